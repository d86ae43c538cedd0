package io.orbitkv.pd.composition.rule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.pd.composition.Draft;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each rule is broken by one change of a composition that breaks none, and no other rule is. */
class RulesTest {

  private static final List<Case> CASES = List.of(
      vllm("pinned-release", "release is '0.32.0', expected '0.31.0'", "release", "0.32.0"),
      sglang("pinned-release", "release is '0.5.21', expected '0.5.22'", "release", "0.5.21"),
      vllm("both-roles", "decode is an empty list", "decode", List.of()),
      vllm("decode-restores-nothing", "cache of decode 'd0' is 'read-write', expected 'save' or 'off'",
          "decode[0].cache", "read-write"),
      sglang("decode-restores-nothing", "cache of decode 'd0' is 'read'", "decode[0].cache", "read"),
      vllm("prefill-reads-and-writes", "cache of prefill 'p1' is 'save', expected 'read-write'",
          "prefill[1].cache", "save"),
      vllm("shared-manager", "manager of prefill 'p1' is not set", "prefill[1].manager", null),
      vllm("saves-are-found", "manager of decode 'd0' is '/run/other.sock' on 10.0.0.1",
          "decode[0].manager", "/run/other.sock"),
      vllm("saves-are-found", "manager of decode 'd0' is '/run/orbitkv/manager.sock' on 10.0.0.2",
          "decode[0].host", "10.0.0.2"),
      vllm("shared-names", "ranks of decode 'd0' is 2, expected 1", "decode[0].ranks", 2),
      vllm("shared-names", "scope of decode 'd0' is 'decode', expected ''", "decode[0].scope", "decode"),
      vllm("shared-names", "--kv-cache-dtype of prefill 'p1' is 'fp8', expected not set",
          "prefill[1].options.--kv-cache-dtype", "fp8"),
      vllm("shared-names", "--dtype of prefill 'p1' is not set, expected 'bfloat16'",
          "prefill[0].options.--dtype", "bfloat16", "decode[0].options.--dtype", "bfloat16"),
      vllm("shared-names", "PYTHONHASHSEED of decode 'd0' is '7'", "decode[0].environment.PYTHONHASHSEED", "7"),
      sglang("shared-names", "--kv-cache-dtype of decode 'd0' is 'fp8_e4m3'",
          "decode[0].options.--kv-cache-dtype", "fp8_e4m3"),
      vllm("separate-names", "scope of decode 'd0' is '', expected another than that of prefill 'p0'",
          "cache.sharing", "separate"),
      vllm("distinct-addresses", "port of decode 'd0' is 8100", "decode[0].port", 8100),
      vllm("distinct-addresses", "transfer_port of decode 'd0' is 5600", "decode[0].transfer_port", 5600),
      vllm("distinct-addresses", "port of prefill 'p0' is 8000", "prefill[0].port", 8000),
      vllm("reachable-hosts", "host of decode 'd0' is '127.0.0.1'",
          "decode[0].host", "127.0.0.1", "decode[0].cache", "off"),
      vllm("reachable-hosts", "host of decode 'd0' is '0.0.0.0'",
          "decode[0].host", "0.0.0.0", "decode[0].cache", "off"),
      sglang("cache-deadline", "cache.defer_ms is 15000, expected at most 12000", "cache.defer_ms", 15_000),
      sglang("cache-deadline", "cache.defer_ms is 1000, expected at most 900", "transport.waiting_timeout_s", 9),
      vllm("planned-settings", "--block-size of decode 'd0' is set by hand", "decode[0].options.--block-size", 32),
      vllm("planned-settings", "VLLM_USE_V2_MODEL_RUNNER of prefill 'p0' is set by hand, expected left to the plan:"
          + " take it out", "prefill[0].environment.VLLM_USE_V2_MODEL_RUNNER", "1"),
      vllm("planned-settings", "--kv-transfer-config of prefill 'p0'",
          "prefill[0].options.--kv-transfer-config", "{\"engine_id\": \"p0\"}"),
      vllm("planned-settings", "--decode of the router is set by hand", "router.options.--decode", "http://x"),
      sglang("planned-settings", "take it out, and set transport.deferred_release",
          "prefill[0].environment.SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE", "false"),
      sglang("planned-settings", "--disaggregation-decode-retraction-backup of decode 'd0' is set by hand",
          "decode[0].options.--disaggregation-decode-retraction-backup", "host_pool"),
      vllm("pull-transport", "transport.mode is 'push', expected 'pull'", "transport.mode", "push"),
      vllm("one-way-transport", "transport.bidirectional is true", "transport.bidirectional", true),
      vllm("lease-outlasts-heartbeat", "transport.lease_s is 5, expected 30 or more", "transport.lease_s", 5),
      vllm("layout-of-transport", "VLLM_KV_CACHE_LAYOUT of decode 'd0' is 'BLHNC', expected 'LBHNC'",
          "prefill[0].environment.VLLM_KV_CACHE_LAYOUT", "BLHNC",
          "prefill[1].environment.VLLM_KV_CACHE_LAYOUT", "BLHNC",
          "decode[0].environment.VLLM_KV_CACHE_LAYOUT", "BLHNC"),
      sglang("drained-release", "transport.deferred_release is false", "transport.deferred_release", false),
      sglang("draining-backend", "transport.name is 'fake'", "transport.name", "fake"),
      sglang("restores-are-not-sent-early", "transport.early_send is true", "transport.early_send", true),
      sglang("no-host-pool", "transport.retraction is 'host_pool'", "transport.retraction", "host_pool"),
      sglang("checked-delivery", "transport.checksum is false", "transport.checksum", false),
      vllm("no-speculation", "--speculative-config of decode 'd0' is '{}', expected not to be there",
          "decode[0].options.--speculative-config", "{}"),
      vllm("no-pipeline", "--pipeline-parallel-size of prefill 'p0' is '2'",
          "prefill[0].options.--pipeline-parallel-size", 2),
      vllm("no-data-parallelism", "--data-parallel-size of prefill 'p0' is '2'",
          "prefill[0].options.--data-parallel-size", 2),
      vllm("no-decode-context-parallelism", "--decode-context-parallel-size of decode 'd0' is '2'",
          "decode[0].options.--decode-context-parallel-size", 2),
      vllm("no-prefill-context-parallelism", "--prefill-context-parallel-size of prefill 'p0' is '2'",
          "prefill[0].options.--prefill-context-parallel-size", 2),
      vllm("no-sleep-mode", "--enable-sleep-mode of decode 'd0' is ''", "decode[0].options.--enable-sleep-mode", true),
      sglang("no-hierarchical-cache", "--enable-hierarchical-cache of prefill 'p0' is ''",
          "prefill[0].options.--enable-hierarchical-cache", true),
      sglang("no-hierarchical-storage", "--hicache-storage-backend of prefill 'p0' is 'file'",
          "prefill[0].options.--hicache-storage-backend", "file"),
      sglang("no-decode-offload", "--disaggregation-decode-enable-offload-kvcache of decode 'd0' is ''",
          "decode[0].options.--disaggregation-decode-enable-offload-kvcache", true),
      sglang("no-other-cache", "--enable-lmcache of prefill 'p0' is ''", "prefill[0].options.--enable-lmcache", true),
      sglang("no-unified-memory", "--enable-unified-memory of decode 'd0' is ''",
          "decode[0].options.--enable-unified-memory", true),
      sglang("no-disabled-tree", "--disable-radix-cache of prefill 'p0' is ''",
          "prefill[0].options.--disable-radix-cache", true),
      sglang("no-role-switch", "--enable-pd-role-switch of decode 'd0' is ''",
          "decode[0].options.--enable-pd-role-switch", true),
      sglang("no-hisparse", "--enable-hisparse of decode 'd0' is ''", "decode[0].options.--enable-hisparse", true),
      sglang("no-speculation", "--speculative-algorithm of decode 'd0' is 'EAGLE'",
          "decode[0].options.--speculative-algorithm", "EAGLE"),
      sglang("unstaged-delivery", "SGLANG_DISAGG_STAGING_BUFFER of decode 'd0' is 'true'",
          "decode[0].environment.SGLANG_DISAGG_STAGING_BUFFER", "true"),
      sglang("no-pipeline", "--pp-size of prefill 'p0' is '2'", "prefill[0].options.--pp-size", 2),
      sglang("no-data-parallelism", "--dp-size of decode 'd0' is '2'", "decode[0].options.--dp-size", 2),
      sglang("no-attention-parallelism", "--enable-dp-attention of decode 'd0' is ''",
          "decode[0].options.--enable-dp-attention", true),
      sglang("no-other-machines", "--nnodes of prefill 'p0' is '2'", "prefill[0].options.--nnodes", 2),
      sglang("no-sessions", "--enable-session-radix-cache of prefill 'p0' is ''",
          "prefill[0].options.--enable-session-radix-cache", true),
      sglang("no-memory-saver", "--enable-memory-saver of decode 'd0' is ''",
          "decode[0].options.--enable-memory-saver", true));

  private record Case(String rule, String line, Draft draft) {
    @Override
    public String toString() {
      return rule + ": " + line;
    }
  }

  private static Case vllm(String rule, String line, Object... changes) {
    return changed(rule, line, Draft.vllm(), changes);
  }

  private static Case sglang(String rule, String line, Object... changes) {
    return changed(rule, line, Draft.sglang(), changes);
  }

  private static Case changed(String rule, String line, Draft draft, Object... changes) {
    for (int i = 0; i < changes.length; i += 2) {
      draft.set((String) changes[i], changes[i + 1]);
    }
    return new Case(rule, line, draft);
  }

  static Stream<Case> cases() {
    return CASES.stream();
  }

  @Test
  void soundCompositions_breakNoRule() {
    assertThat(Rules.broken(Draft.vllm().composition())).isEmpty();
    assertThat(Rules.broken(Draft.sglang().composition())).isEmpty();
  }

  @Test
  void rolesWithScopesOfTheirOwn_mayBeSeparate() {
    Draft draft = Draft.vllm().set("cache.sharing", "separate").set("decode[0].scope", "decode")
        .set("decode[0].ranks", 2).set("prefill[1].manager", null);
    assertThat(Rules.broken(draft.composition())).isEmpty();
  }

  @Test
  void decodeWithoutACache_isHeldToNothingOfTheCache() {
    Draft draft = Draft.sglang().set("decode[0].cache", "off").set("decode[0].manager", null)
        .set("transport.retraction", "host_pool").set("transport.checksum", false)
        .set("decode[0].options.--speculative-algorithm", "EAGLE").set("decode[0].ranks", 2);
    assertThat(Rules.broken(draft.composition())).isEmpty();
  }

  @Test
  void valueThatDoesNoHarm_isNotRefused() {
    Draft draft = Draft.vllm().set("decode[0].options.--pipeline-parallel-size", 1);
    assertThat(Rules.broken(draft.composition())).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void brokenRule_isSaidInOneLine(Case broken) {
    List<Violation> violations = Rules.broken(broken.draft.composition());
    assertThat(violations).isNotEmpty()
        .allSatisfy(violation -> assertThat(violation.rule()).isEqualTo(broken.rule))
        .anySatisfy(violation -> assertThat(violation.line()).contains(broken.line)
            .endsWith(" [" + broken.rule + "]").doesNotContain("\n"));
  }

  @Test
  void everyRule_hasATestThatBreaksIt() {
    List<String> rules = new ArrayList<>(Rules.all().stream().map(Rule::name).distinct().toList());
    rules.removeAll(CASES.stream().map(Case::rule).toList());
    assertThat(rules).isEmpty();
  }

  @Test
  void refusal_tellsAllThatIsWrong() {
    Draft draft = Draft.vllm().set("transport.mode", "push").set("decode[0].cache", "read");
    assertThatThrownBy(() -> Rules.require(draft.composition())).isInstanceOf(RefusedException.class)
        .hasMessageContaining("[decode-restores-nothing]").hasMessageContaining("[pull-transport]");
  }
}
