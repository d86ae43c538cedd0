package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.backend.gpu.cuda.driver.Completion;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.time.Duration;

/** Tells when enqueued work is complete, and ends the process if nobody can tell. Thread-safe. */
final class Watch {

  private static final long SLICE_NANOS = 50_000_000;

  /** So long copies may go on after their engine's end: what is under way is done in a fraction of it. */
  private static final long GRACE_NANOS = 400_000_000;

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

  /** Waits until it is complete. What waits for work of an owner that is gone may never be. */
  void await(long event, Owner owner) {
    long began = System.nanoTime();
    long patience = limit.toNanos();
    boolean gone = false;
    while (true) {
      Completion completion = gpu.await(event, SLICE_NANOS);
      if (completion.state() == Completion.State.COMPLETE) {
        return;
      }
      if (completion.state() == Completion.State.UNKNOWN) {
        throw unknown("the GPU answers " + completion.reason());
      }
      long waited = System.nanoTime() - began;
      if (waited >= patience) {
        throw unknown(gone
            ? "the engine whose work they wait for has ended, and that work has not"
            : "they did not end in " + limit.toSeconds() + " s");
      }
      if (!gone && owner.gone()) {
        gone = true;
        patience = Math.min(patience, waited + GRACE_NANOS);
      }
    }
  }

  /** Ends the process. What it returns is for the compiler, and for tests, which outlive it. */
  IllegalStateException unknown(String reason) {
    end.end(reason);
    return new IllegalStateException("nothing is known of copies that were submitted: " + reason);
  }
}
