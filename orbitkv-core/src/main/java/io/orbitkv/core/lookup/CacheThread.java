package io.orbitkv.core.lookup;

import io.orbitkv.core.agent.FaultLog;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.LongSupplier;

/**
 * The one thread that speaks to the cache, so that nobody else waits for a cache that is slow or gone. Tasks run in the
 * order in which they came. Their number is bounded by those who give them: a question has one under way at a time, and
 * a lease is released once.
 *
 * <p>Thread-safe.
 */
public final class CacheThread implements AutoCloseable {

  private static final Runnable END = () -> {};

  private final LinkedBlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
  private final FaultLog faults;
  private final LongSupplier clock;
  private final Thread thread;
  private volatile boolean busy;
  private volatile long busySince;

  /**
   * Starts the thread.
   *
   * @param faults where a task that fails is told
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public CacheThread(FaultLog faults, LongSupplier clock) {
    this.faults = faults;
    this.clock = clock;
    this.thread = Thread.ofPlatform().daemon().name("orbitkv-adapter-cache").start(this::run);
  }

  /** Has a task run. Returns at once. */
  public void run(Runnable task) {
    tasks.add(task);
  }

  /** Returns for how long the present task has been running, in nanoseconds; zero if there is none. */
  long stalledNanos() {
    long since = busySince;
    return busy ? clock.getAsLong() - since : 0;
  }

  private void run() {
    try {
      for (Runnable task = tasks.take(); task != END; task = tasks.take()) {
        busySince = clock.getAsLong();
        busy = true;
        try {
          task.run();
        } catch (RuntimeException e) {
          // The next task may fare better, and an engine outlives a fault of its cache.
          faults.fault("unexpected " + e + " while the cache was asked", e);
        }
        busy = false;
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("nothing interrupts the thread that speaks to the cache", e);
    }
  }

  /** Runs the tasks that were given before, then ends. Waits for that no longer than the cache lets it. Idempotent. */
  @Override
  public void close() {
    tasks.add(END);
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
