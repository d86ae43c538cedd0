package io.orbitkv.pd.composition.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.pd.composition.Draft;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PlannerTest {

  @Test
  void vllm_everyProcessIsPlannedInFull() {
    List<ProcessPlan> plans = Planner.plan(Draft.vllm()
        .set("model.digest", "ab".repeat(32))
        .set("decode[0].options.--max-num-seqs", 64).set("decode[0].options.--enforce-eager", true)
        .set("decode[0].environment.CUDA_VISIBLE_DEVICES", "1")
        .composition());

    assertThat(plans).extracting(ProcessPlan::title)
        .containsExactly("prefill 'p0'", "prefill 'p1'", "decode 'd0'", "router");
    assertThat(plans.get(1).environment()).containsExactly(
        Map.entry("VLLM_NIXL_SIDE_CHANNEL_HOST", "10.0.0.1"), Map.entry("VLLM_NIXL_SIDE_CHANNEL_PORT", "5601"),
        Map.entry("VLLM_USE_V2_MODEL_RUNNER", "0"));
    assertThat(plans.get(1).command()).containsExactly("vllm", "serve", "/models/qwen3-8b",
        "--served-model-name", "qwen3", "--host", "10.0.0.1", "--port", "8101", "--tensor-parallel-size", "1",
        "--block-size", "16", "--kv-transfer-config",
        """
        {"kv_connector":"MultiConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute",\
        "kv_connector_extra_config":{"connectors":[{"kv_connector":"OrbitKvConnector","kv_role":"kv_both",\
        "kv_load_failure_policy":"recompute","kv_connector_extra_config":{"manager":"/run/orbitkv/manager.sock",\
        "model_digest":"%s","defer_ms":1000}},{"kv_connector":"NixlConnector","kv_role":"kv_producer",\
        "kv_connector_extra_config":{"kv_lease_duration":60}}]}}""".formatted("ab".repeat(32)));
    assertThat(plans.get(2).environment()).containsEntry("CUDA_VISIBLE_DEVICES", "1");
    assertThat(plans.get(2).command()).endsWith("--max-num-seqs", "64", "--enforce-eager");
    assertThat(plans.get(2).shell())
        .startsWith("VLLM_NIXL_SIDE_CHANNEL_HOST=10.0.0.1 VLLM_NIXL_SIDE_CHANNEL_PORT=5602 ")
        .contains("--kv-transfer-config '{\"kv_connector\":\"MultiConnector\"",
            "\"loads\":\"off\",\"saves\":\"finished\",\"delivery_s\":60", "\"kv_role\":\"kv_consumer\"");
    assertThat(plans.get(3).shell()).isEqualTo("vllm-router --vllm-pd-disaggregation --host 10.0.0.1 --port 8000"
        + " --prefill http://10.0.0.1:8100 --prefill http://10.0.0.1:8101 --decode http://10.0.0.1:8200");
  }

  @Test
  void vllm_decodeWithoutACacheHasTheTransportAlone() {
    ProcessPlan decode = Planner.plan(Draft.vllm().set("decode[0].cache", "off").composition()).get(2);
    assertThat(decode.shell()).doesNotContain("MultiConnector", "OrbitKv", "V2_MODEL_RUNNER")
        .contains("{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_consumer\"");
  }

  @Test
  void vllm_engineIdIsLeftToTheEngine() {
    assertThat(Planner.plan(Draft.vllm().composition())).noneMatch(plan -> plan.shell().contains("engine_id"));
  }

  @Test
  void sglang_everyProcessIsPlannedInFull() {
    List<ProcessPlan> plans = Planner.plan(Draft.sglang().set("decode[0].scope", "s").set("prefill[0].scope", "s")
        .composition());

    assertThat(plans).extracting(ProcessPlan::shell).containsExactly(
        "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE=true SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT=120"
            + " SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX=false"
            + " python3 -m sglang.launch_server --model-path /models/qwen3-8b --served-model-name qwen3"
            + " --host 10.0.0.1 --port 30000 --tp-size 1 --page-size 64 --disaggregation-mode prefill"
            + " --disaggregation-transfer-backend mooncake --disaggregation-enable-kv-checksum"
            + " --disaggregation-bootstrap-port 8998 --radix-cache-backend orbitkv"
            + " --enable-unified-cache-external-linker --hicache-storage-backend-extra-config"
            + " '{\"manager\":\"/run/orbitkv/manager.sock\",\"scope\":\"s\",\"pending_ms\":1000}'",
        "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE=true SGLANG_DISAGGREGATION_WAITING_TIMEOUT=300"
            + " SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT=30"
            + " python3 -m sglang.launch_server --model-path /models/qwen3-8b --served-model-name qwen3"
            + " --host 10.0.0.1 --port 30001 --tp-size 1 --page-size 64 --disaggregation-mode decode"
            + " --disaggregation-transfer-backend mooncake --disaggregation-enable-kv-checksum"
            + " --disaggregation-decode-retraction-backup cpu_tensor --disaggregation-decode-enable-radix-cache"
            + " --radix-cache-backend orbitkv --enable-unified-cache-external-linker"
            + " --hicache-storage-backend-extra-config"
            + " '{\"manager\":\"/run/orbitkv/manager.sock\",\"scope\":\"s\",\"loads\":\"off\"}'",
        "python3 -m sglang_router.launch_router --pd-disaggregation --host 10.0.0.1 --port 8000"
            + " --prefill http://10.0.0.1:30000 8998 --decode http://10.0.0.1:30001");
  }

  @Test
  void sglang_decodeWithoutACacheHasNoTree() {
    ProcessPlan decode = Planner.plan(Draft.sglang().set("decode[0].cache", "off").composition()).get(1);
    assertThat(decode.shell()).doesNotContain("radix-cache", "linker", "extra-config");
  }

  @Test
  void sglang_isNotedAsACandidate() {
    assertThat(Planner.notes(Draft.sglang().composition())).singleElement().asString().contains("candidate");
    assertThat(Planner.notes(Draft.vllm().composition())).isEmpty();
  }

  @Test
  void unsafeComposition_isNotPlanned() {
    Draft draft = Draft.vllm().set("transport.mode", "push");
    assertThatThrownBy(() -> Planner.plan(draft.composition())).isInstanceOf(RefusedException.class)
        .hasMessageContaining("[pull-transport]");
  }

  @Test
  void wordsOfAShell_areQuoted() {
    ProcessPlan plan = new ProcessPlan("x", "h", Map.of("A", "it's"), List.of("a b", "c", ""));
    assertThat(plan.shell()).isEqualTo("A='it'\\''s' 'a b' c ''");
  }
}
