package io.orbitkv.core.agent;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.function.LongSupplier;

/** Faults of the cache, for an operator: at most one line a second, with how many were left out. Thread-safe. */
public final class FaultLog {

  private static final long INTERVAL_NANOS = 1_000_000_000L;

  private final Logger log;
  private final LongSupplier clock;
  private boolean any;
  private long lastNanos;
  private long leftOut;

  /**
   * @param log where to
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public FaultLog(Logger log, LongSupplier clock) {
    this.log = log;
    this.clock = clock;
  }

  /** Says what could not be done, and why. */
  public synchronized void fault(String what, Throwable cause) {
    long now = clock.getAsLong();
    if (any && now - lastNanos < INTERVAL_NANOS) {
      leftOut++;
      return;
    }
    String more = leftOut == 0 ? "" : " (" + leftOut + " faults before it were left out)";
    log.log(Level.WARNING, what + ": " + cause.getMessage() + more);
    any = true;
    lastNanos = now;
    leftOut = 0;
  }
}
