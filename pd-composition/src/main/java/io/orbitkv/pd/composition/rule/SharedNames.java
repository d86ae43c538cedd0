package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.CacheUse.Sharing;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A namespace is made of everything that decides what the bytes mean. Workers that are to share bytes must agree on all
 * of it, or each finds nothing of the others, and nothing says so.
 *
 * <p>Of vLLM, what {@code orbitkv_vllm.identity} states as facts and a command line or an environment can change.
 */
record SharedNames() implements Rule {

  private static final Set<String> OPTIONS = Set.of("--dtype", "--kv-cache-dtype", "--quantization", "--hf-overrides",
      "--max-model-len", "--load-format", "--revision", "--attention-backend", "--prefix-caching-hash-algo",
      "--enable-expert-parallel", "--enable-lora", "--disable-sliding-window", "--model-impl",
      "--kv-cache-dtype-skip-layers", "--json-model-override-args", "--context-length", "--prefill-attention-backend",
      "--decode-attention-backend", "--lora-paths");
  private static final Set<String> VARIABLES =
      Set.of("VLLM_KV_CACHE_LAYOUT", "PYTHONHASHSEED", "SGLANG_USE_HND_KVCACHE");

  @Override
  public String name() {
    return "shared-names";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    List<Worker> sharing = composition.workers().stream().filter(worker -> worker.mode() != CacheMode.OFF).toList();
    if (composition.cache().sharing() != Sharing.SHARED || sharing.isEmpty()) {
      return List.of();
    }
    List<Violation> broken = new ArrayList<>();
    Worker first = sharing.getFirst();
    Map<String, String> expected = naming(first);
    for (Worker worker : sharing.subList(1, sharing.size())) {
      Map<String, String> found = naming(worker);
      Set<String> names = new TreeSet<>(expected.keySet());
      names.addAll(found.keySet());
      for (String name : names) {
        String its = found.getOrDefault(name, "not set");
        String other = expected.getOrDefault(name, "not set");
        if (!its.equals(other)) {
          broken.add(new Violation(name(), name + " of " + worker.title(), its, other + ", as of " + first.title()
              + ", since blocks that differ in it have other names and are never found",
              "make them equal, or set sharing to 'separate' and the scopes to different texts"));
        }
      }
    }
    return broken;
  }

  private static Map<String, String> naming(Worker worker) {
    Map<String, String> naming = new LinkedHashMap<>();
    naming.put("ranks", Integer.toString(worker.ranks()));
    naming.put("scope", "'" + worker.scope() + "'");
    OPTIONS.forEach(option -> worker.option(option).ifPresent(value -> naming.put(option, "'" + value + "'")));
    VARIABLES.forEach(variable -> worker.variable(variable).ifPresent(value ->
        naming.put(variable, "'" + value + "'")));
    return naming;
  }
}
