package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import java.util.List;

/**
 * How long prefill waits for the cache comes out of what the transport allows a request. Of SGLang,
 * {@code SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT} on prefill and {@code ..._WAITING_TIMEOUT} on decode run meanwhile,
 * and end it. Of vLLM, decode asks only when prefill has finished; the router's patience is what runs.
 *
 * <p>A tenth, so that a slow cache is told from a slow peer.
 */
record CacheDeadline() implements Rule {

  private static final int SHARE = 10;

  @Override
  public String name() {
    return "cache-deadline";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    if (!(composition.transport() instanceof QueueTransport queues)) {
      return List.of();
    }
    int shortest = Math.min(queues.bootstrapSeconds(), queues.waitingSeconds());
    int deferMillis = composition.cache().deferMillis();
    return (long) deferMillis * SHARE <= shortest * 1000L ? List.of() : List.of(new Violation(name(), "cache.defer_ms",
        Integer.toString(deferMillis), "at most " + shortest * 1000L / SHARE + ", a tenth of the shorter of"
            + " bootstrap_timeout_s and waiting_timeout_s, which run while prefill waits for the cache",
        "lower it, or raise those"));
  }
}
