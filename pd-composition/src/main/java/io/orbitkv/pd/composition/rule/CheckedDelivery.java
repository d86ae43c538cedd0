package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.Role;
import java.util.List;

/**
 * What decode saves, prefill restores for others, so a page that arrived wrong would be served for as long as it is
 * stored. The engine can check each request's pages when they have arrived.
 *
 * <p>{@code --disaggregation-enable-kv-checksum}, off by default in SGLang 0.5.22 ({@code disaggregation/decode.py:
 * _verify_kv_checksums}).
 */
record CheckedDelivery() implements Rule {

  @Override
  public String name() {
    return "checked-delivery";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof QueueTransport queues && !queues.checksum()
        && composition.workers(Role.DECODE).stream().anyMatch(worker -> worker.mode().saves())
        ? List.of(new Violation(name(), "transport.checksum", "false",
            "true, since decode saves, and a page that arrived wrong would be restored for others",
            "leave it out, or set the cache of decode to 'off'"))
        : List.of();
  }
}
