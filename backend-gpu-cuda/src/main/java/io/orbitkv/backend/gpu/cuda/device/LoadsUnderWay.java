package io.orbitkv.backend.gpu.cuda.device;

import java.time.Duration;

/** How many loads are under way, for saves to give way to. A request waits for a load, nobody for a save. Thread-safe. */
final class LoadsUnderWay {

  private final long longestWaitNanos;
  private int count;

  /**
   * @param longestWait so long a portion of a save waits at most: its pages are pages that the engine cannot use
   */
  LoadsUnderWay(Duration longestWait) {
    this.longestWaitNanos = longestWait.toNanos();
  }

  synchronized void begin() {
    count++;
  }

  synchronized void end() {
    count--;
    notifyAll();
  }

  /** Waits until there are none, or long enough. */
  synchronized void giveWay() {
    long end = System.nanoTime() + longestWaitNanos;
    long left = longestWaitNanos;
    try {
      while (count > 0 && left > 0) {
        wait(left / 1_000_000, (int) (left % 1_000_000));
        left = end - System.nanoTime();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
