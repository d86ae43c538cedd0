package io.orbitkv.backend.iouring.store;

import java.lang.System.Logger.Level;

/**
 * One line a fault, and a bound: a dying disk fails thousands of requests a second, and a full log helps no one. Used by
 * one thread.
 */
final class FaultLog {

  private static final int LINES = 20;
  private static final long PERIOD_NANOS = 10_000_000_000L;

  private final System.Logger logger;
  private long periodStart = System.nanoTime();
  private int lines;
  private long withheld;

  FaultLog(System.Logger logger) {
    this.logger = logger;
  }

  void report(String fault) {
    long now = System.nanoTime();
    if (now - periodStart > PERIOD_NANOS) {
      periodStart = now;
      lines = 0;
    }
    if (lines == LINES) {
      withheld++;
      return;
    }
    lines++;
    String suffix = withheld == 0 ? "" : " (after " + withheld + " more faults that were not logged)";
    withheld = 0;
    logger.log(Level.WARNING, fault + suffix);
  }
}
