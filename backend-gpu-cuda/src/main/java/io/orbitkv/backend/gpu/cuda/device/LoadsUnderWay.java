package io.orbitkv.backend.gpu.cuda.device;

import java.time.Duration;

/** How many loads are under way, for all else to give way to: a request waits for a load. Thread-safe. */
final class LoadsUnderWay {

  private int count;

  synchronized void begin() {
    count++;
  }

  synchronized void end() {
    count--;
    notifyAll();
  }

  /** Waits until there are none, or so long. */
  synchronized void giveWay(Duration longestWait) {
    long left = longestWait.toNanos();
    long end = System.nanoTime() + left;
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
