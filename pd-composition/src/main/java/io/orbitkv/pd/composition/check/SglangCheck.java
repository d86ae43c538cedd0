package io.orbitkv.pd.composition.check;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What an SGLang server says of itself: {@code /server_info} has its settings as they were resolved. */
final class SglangCheck {

  private SglangCheck() {}

  static List<Finding> of(Composition composition, Worker worker, Probe probe) throws InterruptedException {
    List<Finding> findings = new ArrayList<>();
    Answer info = probe.ask(worker.http(), "/server_info");
    Map<String, String> expected = expected(composition, worker);
    expected.forEach((name, value) -> findings.add(Finding.of(worker.title() + ", " + name, Answers.text(info, name),
        value, name.equals("version") ? "install sglang==" + value : "restart it as 'orbitkv pd plan' says")));
    findings.add(Finding.of(worker.title() + ", model",
        Answers.text(probe.ask(worker.http(), "/model_info"), "served_model_name"), composition.model().servedName(),
        "restart it as 'orbitkv pd plan' says"));
    return findings;
  }

  private static Map<String, String> expected(Composition composition, Worker worker) {
    Map<String, String> expected = new LinkedHashMap<>();
    expected.put("version", composition.release());
    expected.put("disaggregation_mode", worker.role().word());
    expected.put("page_size", Integer.toString(composition.cache().blockTokens()));
    expected.put("tp_size", Integer.toString(worker.ranks()));
    if (composition.transport() instanceof QueueTransport queues) {
      // mooncake_tcp is resolved to mooncake.
      expected.put("disaggregation_transfer_backend", queues.backend().word().replace("_tcp", ""));
      expected.put("disaggregation_enable_kv_checksum", Boolean.toString(queues.checksum()));
      if (worker.role() == Role.PREFILL) {
        expected.put("disaggregation_bootstrap_port", Integer.toString(worker.transferPort()));
      } else {
        expected.put("disaggregation_decode_retraction_backup", queues.retraction().word());
      }
    }
    expected.put("enable_unified_cache_external_linker", Boolean.toString(worker.mode() != CacheMode.OFF));
    if (worker.mode() != CacheMode.OFF) {
      expected.put("radix_cache_backend", "orbitkv");
    }
    return expected;
  }
}
