package io.orbitkv.core.loop;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Gives the core to one thread at a time. A caller that needs an answer takes its turn on its own thread, without a
 * switch to another: a lookup costs less than waking a thread does. Whoever has no need to wait posts an event, which
 * the holder of the turn, or the poster itself, runs. Events run one after another in one order, as if by one thread;
 * inside the core there are no locks and nothing waits.
 *
 * <p>A thread of the loop's own ticks the core and runs what is left over.
 */
public final class CoreLoop implements AutoCloseable {

  /** How many posted events a caller runs for others before its own; the rest is the loop thread's. */
  private static final int MAX_FOREIGN_EVENTS = 64;

  private static final Logger LOG = System.getLogger(CoreLoop.class.getName());

  private final ReentrantLock turn = new ReentrantLock();
  private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private final Runnable tick;
  private final long tickNanos;
  private volatile boolean closed;

  /**
   * @param tick run in a turn every now and then
   * @param tickNanos how often, in nanoseconds
   */
  public CoreLoop(Runnable tick, long tickNanos) {
    this.tick = tick;
    this.tickNanos = tickNanos;
    this.thread = Thread.ofPlatform().daemon().name("orbitkv-core").unstarted(this::run);
  }

  /** Starts the loop's thread. */
  public void start() {
    thread.start();
  }

  /** Runs an action in a turn and returns what it returns. */
  public <T> T call(Supplier<T> action) {
    turn.lock();
    try {
      runOthersFirst();
      return action.get();
    } finally {
      turn.unlock();
      handOver();
    }
  }

  /** Runs an action in a turn. */
  public void run(Runnable action) {
    turn.lock();
    try {
      runOthersFirst();
      action.run();
    } finally {
      turn.unlock();
      handOver();
    }
  }

  /** Has an event run in a turn of its own soon, perhaps on this thread before this returns. */
  public void post(Runnable event) {
    events.add(event);
    // Whoever posts from inside a turn is in the middle of another event, which must end first.
    if (!turn.isHeldByCurrentThread() && turn.tryLock()) {
      try {
        runEvents(MAX_FOREIGN_EVENTS);
      } finally {
        turn.unlock();
      }
    }
    handOver();
  }

  private void runOthersFirst() {
    if (turn.getHoldCount() == 1) {
      runEvents(MAX_FOREIGN_EVENTS);
    }
  }

  /** An event that came after the holder of the turn looked for the last time must not wait for a tick. */
  private void handOver() {
    if (!events.isEmpty()) {
      LockSupport.unpark(thread);
    }
  }

  private void runEvents(int limit) {
    for (int i = 0; i < limit; i++) {
      Runnable event = events.poll();
      if (event == null) {
        return;
      }
      runLogged(event);
    }
  }

  private void run() {
    long next = System.nanoTime() + tickNanos;
    while (!closed) {
      long wait = next - System.nanoTime();
      if (wait > 0 && events.isEmpty()) {
        LockSupport.parkNanos(this, wait);
      }
      turn.lock();
      try {
        runEvents(MAX_FOREIGN_EVENTS);
        // Looked at again: the turn may have been waited for while the core was closed in it.
        if (!closed && System.nanoTime() - next >= 0) {
          runLogged(tick);
          next = System.nanoTime() + tickNanos;
        }
      } finally {
        turn.unlock();
      }
    }
  }

  /** An event has no caller to report to: its failure is a fault of the core, and others must still run. */
  private static void runLogged(Runnable event) {
    try {
      event.run();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "an event of the cache failed; what it was about is left as it is", e);
    }
  }

  /** Stops the loop's thread: no tick begins after this. Turns can still be taken. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }
}
