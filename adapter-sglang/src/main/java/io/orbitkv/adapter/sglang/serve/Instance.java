package io.orbitkv.adapter.sglang.serve;

import io.orbitkv.adapter.sglang.request.Requests;
import io.orbitkv.adapter.sglang.request.SlidingWindow;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.adapter.SchedulerAttachment;
import io.orbitkv.core.agent.CacheLink;
import io.orbitkv.core.agent.FaultLog;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.lookup.CacheThread;
import io.orbitkv.core.lookup.Questions;
import io.orbitkv.core.lookup.SessionQuestions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** One start of an engine: its scheduler's places in the cache, and what its ranks ask. Thread-safe. */
final class Instance implements AutoCloseable {

  /**
   * What all ranks of a start state.
   *
   * @param pages the instance of the layers that look back on everything
   * @param window that of the layers with a sliding window, if the model has any
   * @param scheduler the scheduler's place in both
   * @param pendingNanos how long a request may wait for the SSD
   */
  record Spec(SessionSpec pages, Optional<WindowSpec> window, Membership scheduler, long pendingNanos) {}

  /**
   * Layers with a sliding window.
   *
   * @param pages their instance
   * @param blocks how many blocks they look back on
   */
  record WindowSpec(SessionSpec pages, int blocks) {}

  private final Spec spec;
  private final List<SchedulerAttachment> attachments = new ArrayList<>();
  private final Requests requests;

  Instance(CacheLink link, Spec spec, CacheThread thread, FaultLog faults) {
    this.spec = spec;
    Function<SessionSpec, Questions> questions = pages -> {
      SchedulerAttachment attachment = new SchedulerAttachment(link, pages, spec.scheduler(), thread, faults);
      attachments.add(attachment);
      return new SessionQuestions(thread, attachment::session, faults, System::nanoTime);
    };
    this.requests = new Requests(questions.apply(spec.pages()),
        spec.window().map(window -> new SlidingWindow(questions.apply(window.pages()), window.blocks())),
        spec.pendingNanos(), System::nanoTime);
  }

  Spec spec() {
    return spec;
  }

  /** As {@link SchedulerAttachment#attach}, of every instance. */
  boolean attach(Duration limit) {
    boolean attached = true;
    for (SchedulerAttachment attachment : attachments) {
      attached &= attachment.attach(limit);
    }
    return attached;
  }

  Requests requests() {
    return requests;
  }

  @Override
  public void close() {
    requests.close();
    attachments.forEach(SchedulerAttachment::close);
  }
}
