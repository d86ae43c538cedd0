package io.orbitkv.pd.composition.rule;

import java.util.Map;

/** Options and variables that plans set, and the setting of the file that decides each; empty if none does. */
final class PlannedNames {

  static final Map<String, String> VLLM_OPTIONS = Map.ofEntries(
      Map.entry("--host", "host"), Map.entry("--port", "port"), Map.entry("--served-model-name", "model.served_name"),
      Map.entry("--tensor-parallel-size", "ranks"), Map.entry("--block-size", "cache.block_tokens"),
      Map.entry("--kv-transfer-config", "cache"), Map.entry("--kv-offloading-size", ""),
      Map.entry("--kv-offloading-backend", ""), Map.entry("--model", "model.path"));

  static final Map<String, String> VLLM_VARIABLES = Map.of(
      "VLLM_NIXL_SIDE_CHANNEL_HOST", "host", "VLLM_NIXL_SIDE_CHANNEL_PORT", "transfer_port",
      "VLLM_USE_V2_MODEL_RUNNER", "");

  static final Map<String, String> SGLANG_OPTIONS = Map.ofEntries(
      Map.entry("--host", "host"), Map.entry("--port", "port"), Map.entry("--model-path", "model.path"),
      Map.entry("--served-model-name", "model.served_name"), Map.entry("--tp-size", "ranks"),
      Map.entry("--tensor-parallel-size", "ranks"), Map.entry("--page-size", "cache.block_tokens"),
      Map.entry("--disaggregation-mode", "the worker's role"),
      Map.entry("--disaggregation-transfer-backend", "transport.name"),
      Map.entry("--disaggregation-bootstrap-port", "transfer_port"),
      Map.entry("--disaggregation-enable-kv-checksum", "transport.checksum"),
      Map.entry("--disaggregation-decode-retraction-backup", "transport.retraction"),
      Map.entry("--disaggregation-decode-enable-radix-cache", "cache of the worker"),
      Map.entry("--radix-cache-backend", "cache of the worker"),
      Map.entry("--enable-unified-cache-external-linker", "cache of the worker"),
      Map.entry("--hicache-storage-backend-extra-config", "cache of the worker"));

  static final Map<String, String> SGLANG_VARIABLES = Map.of(
      "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT", "transport.bootstrap_timeout_s",
      "SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "transport.waiting_timeout_s",
      "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE", "transport.deferred_release",
      "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT", "transport.release_timeout_s",
      "SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX", "transport.early_send");

  private PlannedNames() {}
}
