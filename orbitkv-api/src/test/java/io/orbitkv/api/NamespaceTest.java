package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class NamespaceTest {

  private static final Digest MODEL = Digest.ofHex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");

  @Test
  void build_isTheSameInEveryReleaseOfTheRecord() {
    // Computed apart from this code: a change of it makes every stored block unreachable and needs a new domain.
    assertThat(allFacts().build().digest().toHex())
        .isEqualTo("32bded691073a142668e0e8762f839d7daebedce605632a5d670de70a7829513");
  }

  @Test
  void build_doesNotDependOnTheOrderOfFacts() {
    Namespace reversed = Namespace.builder("vllm", "0.31.0", MODEL)
        .weightsGeneration(3).scope("tenant").adapters(Digest.sha256(new byte[0])).parallel(2, 1).blockTokens(16)
        .layout("NHD", 65536, 65536).kvDtype("bfloat16").computation("attention", "flash")
        .build();
    assertThat(reversed).isEqualTo(allFacts().build());
  }

  @Test
  void build_everyFactChangesTheName() {
    Map<String, Namespace.Builder> changed = new LinkedHashMap<>();
    changed.put("nothing", allFacts());
    changed.put("engine", facts("sglang", "0.31.0", MODEL));
    changed.put("version", facts("vllm", "0.31.1", MODEL));
    changed.put("model", facts("vllm", "0.31.0", Digest.ZERO));
    changed.put("computation", allFacts().computation("attention", "triton"));
    changed.put("another computation", allFacts().computation("quantization", ""));
    changed.put("type", allFacts().kvDtype("fp8_e4m3"));
    changed.put("layout", allFacts().layout("HND", 65536, 65536));
    changed.put("page bytes", allFacts().layout("NHD", 65536, 32768));
    changed.put("layers", allFacts().layout("NHD", 65536));
    changed.put("block", allFacts().blockTokens(32));
    changed.put("tensor ranks", allFacts().parallel(1, 1));
    changed.put("pipeline ranks", allFacts().parallel(2, 2));
    changed.put("adapters", allFacts().adapters(Digest.ZERO));
    changed.put("scope", allFacts().scope("other"));
    changed.put("weights", allFacts().weightsGeneration(4));
    assertThat(changed.values().stream().map(Namespace.Builder::build)).doesNotHaveDuplicates();
  }

  @Test
  void build_factLeftOut_differsFromAnEmptyOne() {
    Namespace leftOut = Namespace.builder("vllm", "1", MODEL).build();
    Namespace empty = Namespace.builder("vllm", "1", MODEL).scope("").build();
    assertThat(empty).isNotEqualTo(leftOut);
  }

  @Test
  void build_factsThatReadTheSameInARow_differ() {
    Namespace one = Namespace.builder("vllm", "1", MODEL).computation("a", "bc").build();
    Namespace other = Namespace.builder("vllm", "1", MODEL).computation("ab", "c").build();
    assertThat(one).isNotEqualTo(other);
  }

  @Test
  void computation_blankName_isRefused() {
    assertThatThrownBy(() -> allFacts().computation(" ", "x"))
        .isInstanceOf(RefusedException.class).hasMessageContaining("computation setting has a blank name");
  }

  private static Namespace.Builder allFacts() {
    return facts("vllm", "0.31.0", MODEL);
  }

  private static Namespace.Builder facts(String engine, String version, Digest model) {
    return Namespace.builder(engine, version, model)
        .computation("attention", "flash").kvDtype("bfloat16").layout("NHD", 65536, 65536).blockTokens(16)
        .parallel(2, 1).adapters(Digest.sha256(new byte[0])).scope("tenant").weightsGeneration(3);
  }
}
