package io.orbitkv.adapter.sglang.serve;

import io.orbitkv.adapter.sglang.request.Requests;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.adapter.SchedulerAttachment;
import io.orbitkv.core.agent.CacheLink;
import io.orbitkv.core.agent.FaultLog;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.lookup.CacheThread;
import io.orbitkv.core.lookup.SessionQuestions;
import java.time.Duration;

/** One start of an engine: its scheduler's place in the cache, and what its ranks ask. Thread-safe. */
final class Instance implements AutoCloseable {

  private final long pendingNanos;
  private final SchedulerAttachment attachment;
  private final Requests requests;

  Instance(CacheLink link, SessionSpec spec, Membership scheduler, long pendingNanos, CacheThread thread,
      FaultLog faults) {
    this.pendingNanos = pendingNanos;
    this.attachment = new SchedulerAttachment(link, spec, scheduler, thread, faults);
    this.requests = new Requests(
        new SessionQuestions(thread, attachment::session, faults, System::nanoTime), pendingNanos, System::nanoTime);
  }

  boolean isOf(SessionSpec spec, Membership scheduler, long otherPendingNanos) {
    return attachment.isOf(spec, scheduler) && pendingNanos == otherPendingNanos;
  }

  /** As {@link SchedulerAttachment#attach}. */
  boolean attach(Duration limit) {
    return attachment.attach(limit);
  }

  Requests requests() {
    return requests;
  }

  @Override
  public void close() {
    requests.close();
    attachment.close();
  }
}
