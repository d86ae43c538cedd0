package io.orbitkv.core.assembly;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.core.loop.CoreLoop;
import io.orbitkv.core.machine.CacheCore;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * A core with its memory, its store and its turns: opened together, closed in order. Whoever reaches it, from this
 * process or through a socket, takes turns.
 *
 * <p>Thread-safe.
 */
public final class RunningCache {

  private static final long TICK_NANOS = Duration.ofMillis(250).toNanos();
  private static final Duration STORE_LIMIT = Duration.ofSeconds(30);

  private final MemoryPool pool;
  private final BlockStore store;
  private final CacheCore core;
  private final CoreLoop loop;
  private final RecoveryReport recovery;
  private boolean closing;
  private boolean closed;

  private RunningCache(CacheParts parts) {
    // The order opens nothing of the machine's, so a wrong setting of it does not cost a reservation of memory.
    EvictionOrder order = parts.policy().open(parts.policyOptions());
    this.pool = parts.memory().open(parts.memoryOptions());
    BlockStore opened = null;
    CacheCore made = null;
    try {
      opened = parts.ssd().map(ssd -> ssd.backend().open(ssd.options())).orElse(null);
      made = new CacheCore(pool, order, opened, parts.limits(), System::nanoTime, parts.seed());
      this.core = made;
      this.loop = new CoreLoop(core::tick, TICK_NANOS);
      this.store = opened;
      this.recovery = opened == null ? null : core.recover();
      if (opened != null) {
        opened.start((token, status) -> lastEvent(() -> core.completed(token, status)), pool.regions());
        // In a turn: from the first request on, completions come in turns of the store's thread.
        loop.run(core::storeStarted);
      }
      loop.start();
    } catch (RuntimeException | Error e) {
      if (opened != null) {
        opened.close();
      }
      if (made != null) {
        made.close();
      }
      pool.close();
      throw e;
    }
  }

  /**
   * Opens a cache.
   *
   * @throws io.orbitkv.api.RefusedException if a size or a setting is wrong
   * @throws io.orbitkv.api.UnavailableException if the machine does not grant what is asked for
   */
  public static RunningCache open(CacheParts parts) {
    return new RunningCache(parts);
  }

  /** Returns the core, to be called in turns only. */
  public CacheCore core() {
    return core;
  }

  /** Returns the memory that blocks lie in. */
  public MemoryPool memory() {
    return pool;
  }

  /** Returns what was found on the SSD at the start, if there is one. */
  public Optional<RecoveryReport> recovery() {
    return Optional.ofNullable(recovery);
  }

  /** Runs an operation in a turn of the core; refused once the cache is being closed. */
  public <T> T turn(Supplier<T> action) {
    return loop.call(() -> {
      if (closing) {
        throw new ClosedException("the cache is closed");
      }
      return action.get();
    });
  }

  /** Runs an operation that ends something, which may come while the cache closes, and after it does nothing. */
  public void lastTurn(Runnable action) {
    loop.run(() -> {
      if (!closed) {
        action.run();
      }
    });
  }

  /** As {@link #lastTurn(Runnable)}, with a result. */
  public <T> T lastTurn(Supplier<T> action, T afterClose) {
    return loop.call(() -> closed ? afterClose : action.get());
  }

  /** As {@link #lastTurn(Runnable)}, for a thread that must not wait for its turn. */
  private void lastEvent(Runnable action) {
    loop.post(() -> {
      if (!closed) {
        action.run();
      }
    });
  }

  /**
   * Waits until everything that is visible is on the SSD.
   *
   * @param limit how long at most
   * @return whether it is
   * @throws InterruptedException if the thread was interrupted; writing goes on
   */
  public boolean flush(Duration limit) throws InterruptedException {
    return await(core::isWritten, limit);
  }

  /**
   * Waits until no grant is held.
   *
   * @param limit how long at most
   * @return whether none is
   * @throws InterruptedException if the thread was interrupted
   */
  public boolean awaitGrants(Duration limit) throws InterruptedException {
    return await(() -> core.grants() == 0, limit);
  }

  /**
   * Admits no {@link #turn} any more.
   *
   * @return whether this was the first call
   */
  public boolean stopAdmitting() {
    return loop.call(() -> {
      boolean first = !closing;
      closing = true;
      return first;
    });
  }

  /**
   * Writes what is to be written and closes the segment, so that the next start need not scan it. Does nothing without
   * an SSD.
   *
   * @throws InterruptedException if the thread was interrupted; the store is as a crash would leave it
   */
  public void settleStore() throws InterruptedException {
    if (store != null) {
      await(core::isWritten, STORE_LIMIT);
      loop.run(core::sealStore);
      await(() -> core.storeRequests() == 0, STORE_LIMIT);
    }
  }

  /** Ends store, turns and core, in this order. Memory stays mapped until {@link #closeMemory}. */
  public void close() {
    if (store != null) {
      store.close();
    }
    loop.close();
    loop.run(() -> {
      if (!closed) {
        closed = true;
        core.close();
      }
    });
  }

  /** Gives memory back. After {@link #close}, and only if nobody in this process can still touch it. */
  public void closeMemory() {
    pool.close();
  }

  /** Looks every millisecond: used where a person or a shutdown waits, never on a request. */
  private boolean await(BooleanSupplier condition, Duration limit) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!lastTurn(condition::getAsBoolean, true)) {
      if (System.nanoTime() - deadline >= 0) {
        return false;
      }
      Thread.sleep(1);
    }
    return true;
  }
}
