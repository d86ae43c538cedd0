package io.orbitkv.backend.gpu.cuda.device;

/** How many loads are under way, for saves to give way to. A request waits for a load, nobody for a save. Thread-safe. */
final class LoadsUnderWay {

  /** So long a portion of a save waits at most: pages of a save are pages that the engine cannot use. */
  private static final long LONGEST_WAIT_NANOS = 20_000_000;

  private int count;

  synchronized void begin() {
    count++;
  }

  synchronized void end() {
    count--;
    notifyAll();
  }

  synchronized int count() {
    return count;
  }

  /** Waits until there are none, or long enough. */
  synchronized void giveWay() {
    long end = System.nanoTime() + LONGEST_WAIT_NANOS;
    long left = LONGEST_WAIT_NANOS;
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
