package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.NixlTransport;
import java.util.List;

/**
 * Decode sends a sign of life every sixth of the lease, in whole seconds, in a step of its engine, and each extends the
 * lease by two thirds. Prefill gives the pages to other requests when the lease has run out, whether or not decode is
 * still reading them: nothing tells decode, and what it read is another request's.
 *
 * <p>{@code nixl/base_scheduler.py: _heartbeat_interval}, {@code nixl/base_worker.py: _lease_extension,
 * _reap_expired_send_leases} of vLLM 0.31.0.
 */
record LeaseOutlastsHeartbeat() implements Rule {

  private static final int LEAST_SECONDS = 30;

  @Override
  public String name() {
    return "lease-outlasts-heartbeat";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof NixlTransport nixl && nixl.leaseSeconds() < LEAST_SECONDS
        ? List.of(new Violation(name(), "transport.lease_s", Integer.toString(nixl.leaseSeconds()),
            LEAST_SECONDS + " or more, the engine's default, since prefill uses pages again when the lease has run out,"
                + " even while decode reads them", "raise it, or leave it out"))
        : List.of();
  }
}
