package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.util.ArrayDeque;

/**
 * Events that are used again. One may be given back only when what it was recorded behind is complete and nobody asks for
 * it any more: its next record would answer for its last. Thread-safe.
 */
final class EventPool implements AutoCloseable {

  private final Gpu gpu;
  private final ArrayDeque<Long> free = new ArrayDeque<>();

  EventPool(Gpu gpu) {
    this.gpu = gpu;
  }

  synchronized long take() {
    Long event = free.poll();
    return event != null ? event : gpu.event();
  }

  synchronized void give(long event) {
    free.push(event);
  }

  /** Ends the events that were given back. */
  @Override
  public synchronized void close() {
    free.forEach(gpu::endEvent);
    free.clear();
  }
}
