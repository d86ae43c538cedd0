package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.backend.gpu.cuda.driver.Completion;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.time.Duration;

/** Tells when enqueued work is complete, and ends the process if nobody can tell. Thread-safe. */
final class Watch {

  private final Gpu gpu;
  private final ProcessEnd end;
  private final Duration limit;

  Watch(Gpu gpu, ProcessEnd end, Duration limit) {
    this.gpu = gpu;
    this.end = end;
    this.limit = limit;
  }

  /** Returns whether everything before the event's last record is complete. */
  boolean complete(long event) {
    Completion completion = gpu.query(event);
    if (completion.state() == Completion.State.UNKNOWN) {
      throw unknown("the GPU answers " + completion.reason());
    }
    return completion.state() == Completion.State.COMPLETE;
  }

  /** Waits until it is complete. */
  void await(long event) {
    Completion completion = gpu.await(event, limit.toNanos());
    switch (completion.state()) {
      case COMPLETE -> {
        return;
      }
      case PENDING -> throw unknown("they did not end in " + limit.toSeconds()
          + " s; the event that they wait for may be of an engine that was killed");
      case UNKNOWN -> throw unknown("the GPU answers " + completion.reason());
    }
  }

  /** Ends the process. What it returns is for the compiler, and for tests, which outlive it. */
  IllegalStateException unknown(String reason) {
    end.end(reason);
    return new IllegalStateException("nothing is known of copies that were submitted: " + reason);
  }
}
