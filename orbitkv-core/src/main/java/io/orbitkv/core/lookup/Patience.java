package io.orbitkv.core.lookup;

import java.util.function.LongSupplier;

/**
 * How long the scheduler's thread may wait for the cache: what is in memory is answered in a fraction of a millisecond,
 * and worth waiting for, but a cache that is slow today must not slow down every step of the engine. So waiting is paid
 * from an allowance, which grows with a quarter of the time that passes.
 *
 * <p>Used by one thread.
 */
final class Patience {

  /** The longest wait for one answer. */
  static final long ONCE_NANOS = 5_000_000;

  /** The largest allowance: the longest wait in one step of the engine, whatever the number of requests. */
  static final long MOST_NANOS = 10_000_000;

  private static final int SHARE = 4;

  private final LongSupplier clock;
  private long allowance = MOST_NANOS;
  private long grownAt;

  Patience(LongSupplier clock) {
    this.clock = clock;
    this.grownAt = clock.getAsLong();
  }

  /** Returns how long a wait that begins now may take, in nanoseconds. */
  long left() {
    long now = clock.getAsLong();
    allowance = Math.min(MOST_NANOS, allowance + (now - grownAt) / SHARE);
    grownAt = now;
    return Math.clamp(allowance, 0, ONCE_NANOS);
  }

  /** Pays for a wait that began with {@link #left} and has ended now. */
  void waited() {
    long now = clock.getAsLong();
    allowance -= now - grownAt;
    grownAt = now;
  }
}
