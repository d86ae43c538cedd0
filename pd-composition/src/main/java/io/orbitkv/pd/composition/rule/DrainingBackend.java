package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.QueueTransport.Backend;
import java.util.List;

/**
 * Only some backends say when they write no more ({@code supports_deferred_decode_kv_release} in
 * {@code disaggregation/*}{@code /conn.py} of SGLang 0.5.22: mooncake and what derives from it, nixl, mori). {@code
 * fake} moves nothing, so what decode would save was never computed.
 */
record DrainingBackend() implements Rule {

  @Override
  public String name() {
    return "draining-backend";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof QueueTransport queues && queues.backend() == Backend.FAKE
        ? List.of(new Violation(name(), "transport.name", "'fake'",
            "a backend that moves pages and says when it has stopped: mooncake, nixl or mori",
            "choose one of them"))
        : List.of();
  }
}
