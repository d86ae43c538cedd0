package io.orbitkv.pd.composition.rule;

import static io.orbitkv.pd.composition.Engine.SGLANG;
import static io.orbitkv.pd.composition.Engine.VLLM;
import static io.orbitkv.pd.composition.Role.DECODE;
import static io.orbitkv.pd.composition.Role.PREFILL;

import io.orbitkv.api.RefusedException;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Role;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** All rules. */
public final class Rules {

  private static final Set<Role> BOTH = Set.of(PREFILL, DECODE);
  private static final Set<String> ONE = Set.of("1");

  private Rules() {}

  /** Returns all rules. */
  public static List<Rule> all() {
    return List.of(
        new PinnedRelease(),
        new BothRoles(),
        new DecodeRestoresNothing(),
        new PrefillReadsAndWrites(),
        new SharedManager(),
        new SavesAreFound(),
        new SharedNames(),
        new SeparateNames(),
        new DistinctAddresses(),
        new ReachableHosts(),
        new CacheDeadline(),
        new PlannedSettings(),
        new PullTransport(),
        new OneWayTransport(),
        new LeaseOutlastsHeartbeat(),
        new LayoutOfTransport(),
        new DrainedRelease(),
        new DrainingBackend(),
        new RestoresAreNotSentEarly(),
        new NoHostPool(),
        new CheckedDelivery(),
        new UnstagedDelivery(),

        // What orbitkv_vllm.profile refuses when an engine starts, before anything is started.
        new RefusedOption("no-speculation", VLLM, BOTH, "--speculative-config", Set.of(),
            "a draft's tokens may be taken back after their pages were saved"),
        new RefusedOption("no-pipeline", VLLM, BOTH, "--pipeline-parallel-size", ONE,
            "only tensor parallelism is served"),
        new RefusedOption("no-data-parallelism", VLLM, BOTH, "--data-parallel-size", ONE,
            "a replica is a worker of its own here; add one for each"),
        new RefusedOption("no-decode-context-parallelism", VLLM, BOTH, "--decode-context-parallel-size", ONE,
            "only tensor parallelism is served"),
        new RefusedOption("no-prefill-context-parallelism", VLLM, BOTH, "--prefill-context-parallel-size", ONE,
            "only tensor parallelism is served"),
        new RefusedOption("no-sleep-mode", VLLM, BOTH, "--enable-sleep-mode", Set.of(),
            "it takes pages away while they are shared"),

        // arg_groups/hicache_hook.py, mem_cache/registry.py: one of them and the external cache, not both.
        new RefusedOption("no-hierarchical-cache", SGLANG, BOTH, "--enable-hierarchical-cache", Set.of(),
            "HiCache and an external cache exclude each other"),
        new RefusedOption("no-hierarchical-storage", SGLANG, BOTH, "--hicache-storage-backend", Set.of(),
            "HiCache and an external cache exclude each other"),
        new RefusedOption("no-decode-offload", SGLANG, Set.of(DECODE), "--disaggregation-decode-enable-offload-kvcache",
            Set.of(), "it needs HiCache's storage, which excludes an external cache"),
        new RefusedOption("no-other-cache", SGLANG, BOTH, "--enable-lmcache", Set.of(),
            "the tree is linked to one external cache"),
        // arg_groups/kv_cache_hook.py: refused together with the linker by an assertion.
        new RefusedOption("no-unified-memory", SGLANG, BOTH, "--enable-unified-memory", Set.of(),
            "its pages move while an external cache copies them"),
        // The linker hangs on the tree, and a disabled one publishes nothing.
        new RefusedOption("no-disabled-tree", SGLANG, BOTH, "--disable-radix-cache", Set.of(),
            "the cache is linked to the tree of prefixes"),
        // disaggregation/role_switch.py: what a worker may do with the cache follows from its role.
        new RefusedOption("no-role-switch", SGLANG, BOTH, "--enable-pd-role-switch", Set.of(),
            "a worker that changes its role would keep the cache of the other"),
        // arg_groups/pd_disaggregation_hook.py: refused by the engine beside the tree on decode.
        new RefusedOption("no-hisparse", SGLANG, BOTH, "--enable-hisparse", Set.of(),
            "decode cannot have a tree of prefixes beside it, and saves through that"),
        new RefusedOption("no-speculation", SGLANG, BOTH, "--speculative-algorithm", Set.of(),
            "a draft's pages have no contract with an external cache, and decode cannot have a tree beside it"),
        // What orbitkv_sglang.profile refuses when an engine starts, before anything is started.
        new RefusedOption("no-pipeline", SGLANG, BOTH, "--pp-size", ONE, "only tensor parallelism is served"),
        new RefusedOption("no-data-parallelism", SGLANG, BOTH, "--dp-size", ONE,
            "a replica is a worker of its own here; add one for each"),
        new RefusedOption("no-attention-parallelism", SGLANG, BOTH, "--enable-dp-attention", Set.of(),
            "only tensor parallelism is served"),
        new RefusedOption("no-other-machines", SGLANG, BOTH, "--nnodes", ONE,
            "the ranks of a worker must be on one machine"),
        new RefusedOption("no-sessions", SGLANG, BOTH, "--enable-session-radix-cache", Set.of(),
            "it keeps tokens that no hash covers"),
        new RefusedOption("no-memory-saver", SGLANG, BOTH, "--enable-memory-saver", Set.of(),
            "it takes pages away while they are shared"));
  }

  /** Returns every violation, in the order of the rules. */
  public static List<Violation> broken(Composition composition) {
    return all().stream().flatMap(rule -> rule.broken(composition).stream()).toList();
  }

  /**
   * Refuses a composition that breaks a rule.
   *
   * @throws RefusedException with a line for each violation
   */
  public static void require(Composition composition) {
    List<Violation> broken = broken(composition);
    if (!broken.isEmpty()) {
      throw new RefusedException(broken.stream().map(Violation::line).collect(Collectors.joining("; ")));
    }
  }
}
