package io.orbitkv.pd.composition.plan;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.NixlTransport;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** vLLM 0.31.0: MultiConnector of OrbitKvConnector and NixlConnector, and its router. */
final class VllmPlan {

  private VllmPlan() {}

  static List<ProcessPlan> of(Composition composition, NixlTransport transport) {
    List<ProcessPlan> plans = new ArrayList<>();
    composition.workers().forEach(worker -> plans.add(worker(composition, transport, worker)));
    plans.add(router(composition));
    return plans;
  }

  private static ProcessPlan worker(Composition composition, NixlTransport transport, Worker worker) {
    Map<String, String> environment = new LinkedHashMap<>();
    environment.put("VLLM_NIXL_SIDE_CHANNEL_HOST", worker.host());
    environment.put("VLLM_NIXL_SIDE_CHANNEL_PORT", Integer.toString(worker.transferPort()));
    if (worker.mode() != CacheMode.OFF) {
      // OrbitKV refuses the other one: it prepares pages before a connector may.
      environment.put("VLLM_USE_V2_MODEL_RUNNER", "0");
    }
    environment.putAll(worker.environment());
    CommandLine command = new CommandLine("vllm", "serve", composition.model().path())
        .option("--served-model-name", composition.model().servedName())
        .option("--host", worker.host())
        .option("--port", worker.port())
        .option("--tensor-parallel-size", worker.ranks())
        .option("--block-size", composition.cache().blockTokens())
        .option("--kv-transfer-config", transfer(composition, transport, worker))
        .options(worker.options());
    return new ProcessPlan(worker.title(), worker.host(), environment, command.words());
  }

  /** No {@code engine_id}: peers keep what they know of one by it, so each start needs another, and vLLM makes it. */
  private static Map<String, Object> transfer(Composition composition, NixlTransport transport, Worker worker) {
    Map<String, Object> nixl = new LinkedHashMap<>();
    nixl.put("kv_connector", "NixlConnector");
    nixl.put("kv_role", worker.role() == Role.PREFILL ? "kv_producer" : "kv_consumer");
    nixl.put("kv_connector_extra_config", Map.of("kv_lease_duration", transport.leaseSeconds()));
    if (worker.mode() == CacheMode.OFF) {
      nixl.put("kv_load_failure_policy", "recompute");
      return nixl;
    }
    Map<String, Object> orbitkv = new LinkedHashMap<>();
    // By its name alone: MultiConnector looks its statistics up by that.
    orbitkv.put("kv_connector", "OrbitKvConnector");
    orbitkv.put("kv_role", "kv_both");
    orbitkv.put("kv_load_failure_policy", "recompute");
    orbitkv.put("kv_connector_extra_config", settings(composition, transport, worker));
    Map<String, Object> both = new LinkedHashMap<>();
    both.put("kv_connector", "MultiConnector");
    both.put("kv_role", "kv_both");
    both.put("kv_load_failure_policy", "recompute");
    // OrbitKV first: on a CPU it moves the pages into a file, and NIXL has to register what is there afterwards.
    both.put("kv_connector_extra_config", Map.of("connectors", List.of(orbitkv, nixl)));
    return both;
  }

  private static Map<String, Object> settings(Composition composition, NixlTransport transport, Worker worker) {
    Map<String, Object> settings = new LinkedHashMap<>();
    worker.manager().ifPresent(manager -> settings.put("manager", manager.toString()));
    if (!worker.scope().isEmpty()) {
      settings.put("scope", worker.scope());
    }
    composition.model().digest().ifPresent(digest -> settings.put("model_digest", digest));
    if (worker.mode().reads()) {
      settings.put("defer_ms", composition.cache().deferMillis());
    } else {
      settings.put("loads", "off");
      settings.put("saves", "finished");
      // P's lease counts from the same moment. Signs of life prolong it, and what is delivered then is not saved either.
      settings.put("delivery_s", transport.leaseSeconds());
    }
    return settings;
  }

  private static ProcessPlan router(Composition composition) {
    CommandLine command = new CommandLine("vllm-router")
        .flag("--vllm-pd-disaggregation")
        .option("--host", composition.router().host())
        .option("--port", composition.router().port());
    composition.workers(Role.PREFILL).forEach(worker -> command.option("--prefill", worker.http().toString()));
    composition.workers(Role.DECODE).forEach(worker -> command.option("--decode", worker.http().toString()));
    command.options(composition.router().options());
    return new ProcessPlan("router", composition.router().host(), Map.of(), command.words());
  }
}
