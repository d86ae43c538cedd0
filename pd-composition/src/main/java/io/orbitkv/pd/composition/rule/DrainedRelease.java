package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import java.util.List;

/**
 * Decode keeps the pages of an aborted request until prefill says that it writes no more. Both sides must have it: the
 * one to wait, the other to say so.
 *
 * <p>{@code SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE}, {@code environ.py} and {@code
 * disaggregation/common/conn.py} of SGLang 0.5.22, where it is on by default; in 0.5.21 it was off. After
 * {@code ..._RELEASE_TIMEOUT} device pages are freed without that word ({@code decode.py: resolve_deferred_releases}).
 */
record DrainedRelease() implements Rule {

  @Override
  public String name() {
    return "drained-release";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof QueueTransport queues && !queues.deferredRelease()
        ? List.of(new Violation(name(), "transport.deferred_release", "false",
            "true, since else decode uses pages again that prefill is still writing to", "leave it out"))
        : List.of();
  }
}
