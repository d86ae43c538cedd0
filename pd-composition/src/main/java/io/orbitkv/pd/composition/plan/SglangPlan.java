package io.orbitkv.pd.composition.plan;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** SGLang 0.5.22: its disaggregation queues, its tree linked to OrbitKV, and its router. */
final class SglangPlan {

  private SglangPlan() {}

  static List<ProcessPlan> of(Composition composition, QueueTransport transport) {
    List<ProcessPlan> plans = new ArrayList<>();
    composition.workers().forEach(worker -> plans.add(worker(composition, transport, worker)));
    plans.add(router(composition));
    return plans;
  }

  private static ProcessPlan worker(Composition composition, QueueTransport transport, Worker worker) {
    boolean isPrefill = worker.role() == Role.PREFILL;
    boolean isLinked = worker.mode() != CacheMode.OFF;
    CommandLine command = new CommandLine("python3", "-m", "sglang.launch_server")
        .option("--model-path", composition.model().path())
        .option("--served-model-name", composition.model().servedName())
        .option("--host", worker.host())
        .option("--port", worker.port())
        .option("--tp-size", worker.ranks())
        .option("--page-size", composition.cache().blockTokens())
        .option("--disaggregation-mode", worker.role().word())
        .option("--disaggregation-transfer-backend", transport.backend().word())
        .flagIf(transport.checksum(), "--disaggregation-enable-kv-checksum");
    if (isPrefill) {
      command.option("--disaggregation-bootstrap-port", worker.transferPort());
    } else {
      command.option("--disaggregation-decode-retraction-backup", transport.retraction().word())
          // Without a tree decode keeps nothing that could be saved.
          .flagIf(isLinked, "--disaggregation-decode-enable-radix-cache");
    }
    if (isLinked) {
      command.option("--radix-cache-backend", "orbitkv").flag("--enable-unified-cache-external-linker")
          .option("--hicache-storage-backend-extra-config", settings(composition, worker));
    }
    command.options(worker.options());
    return new ProcessPlan(worker.title(), worker.host(), environment(composition, transport, worker), command.words());
  }

  /** Each is written out, also where it is the release's default: another release may have another. */
  private static Map<String, String> environment(Composition composition, QueueTransport transport, Worker worker) {
    Map<String, String> environment = new LinkedHashMap<>();
    environment.put("SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE", Boolean.toString(transport.deferredRelease()));
    if (worker.role() == Role.PREFILL) {
      environment.put("SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT", Integer.toString(transport.bootstrapSeconds()));
      environment.put("SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX", Boolean.toString(transport.earlySend()));
    } else {
      environment.put("SGLANG_DISAGGREGATION_WAITING_TIMEOUT", Integer.toString(transport.waitingSeconds()));
      environment.put("SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT",
          Integer.toString(transport.releaseSeconds()));
    }
    environment.putAll(worker.environment());
    return environment;
  }

  private static Map<String, Object> settings(Composition composition, Worker worker) {
    Map<String, Object> settings = new LinkedHashMap<>();
    worker.manager().ifPresent(manager -> settings.put("manager", manager.toString()));
    if (!worker.scope().isEmpty()) {
      settings.put("scope", worker.scope());
    }
    composition.model().digest().ifPresent(digest -> settings.put("model_digest", digest));
    if (worker.mode().reads()) {
      settings.put("pending_ms", composition.cache().deferMillis());
    } else {
      settings.put("loads", "off");
    }
    return settings;
  }

  private static ProcessPlan router(Composition composition) {
    CommandLine command = new CommandLine("python3", "-m", "sglang_router.launch_router")
        .flag("--pd-disaggregation")
        .option("--host", composition.router().host())
        .option("--port", composition.router().port());
    composition.workers(Role.PREFILL).forEach(worker ->
        command.option("--prefill", worker.http().toString()).flag(Integer.toString(worker.transferPort())));
    composition.workers(Role.DECODE).forEach(worker -> command.option("--decode", worker.http().toString()));
    command.options(composition.router().options());
    return new ProcessPlan("router", composition.router().host(), Map.of(), command.words());
  }
}
