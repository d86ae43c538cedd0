package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.Role;
import java.util.List;

/**
 * Prefill sends a cached prefix before it computes the rest, as soon as it has pages. Those of a restore have their
 * bytes later.
 *
 * <p>{@code SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX}, on by default in SGLang 0.5.22 ({@code
 * disaggregation/prefill.py: maybe_send_cached_prefix_chunk}). It leaves out {@code host_hit_length} of the request
 * itself, and not what another request is still restoring.
 */
record RestoresAreNotSentEarly() implements Rule {

  @Override
  public String name() {
    return "restores-are-not-sent-early";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof QueueTransport queues && queues.earlySend()
        && composition.workers(Role.PREFILL).stream().anyMatch(worker -> worker.mode().reads())
        ? List.of(new Violation(name(), "transport.early_send", "true",
            "false, since prefill restores prefixes, and one that is still being restored would be sent as it lies",
            "leave it out"))
        : List.of();
  }
}
