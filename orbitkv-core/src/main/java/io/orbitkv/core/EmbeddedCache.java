package io.orbitkv.core;

import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.core.assembly.RunningCache;
import io.orbitkv.core.machine.CacheCore;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A cache inside this process, over memory and, if asked for, an SSD.
 *
 * {@snippet :
 * try (Cache cache = EmbeddedCache.builder().dram(ByteSize.parse("1GiB")).open()) {
 *   // attach a session
 * }
 * }
 *
 * <p>Thread-safe. Operations run in turns on the threads of their callers; none waits for the SSD except those that say
 * so.
 */
public final class EmbeddedCache implements Cache {

  private static final Logger LOG = System.getLogger(EmbeddedCache.class.getName());

  private final RunningCache running;
  private final boolean durable;

  private EmbeddedCache(RunningCache running) {
    this.running = running;
    this.durable = running.recovery().isPresent();
  }

  /** Returns a builder with the defaults, and no memory size. */
  public static Builder builder() {
    return new Builder();
  }

  /** Returns what was found on the SSD at the start, if there is one. */
  public Optional<RecoveryReport> recovery() {
    return running.recovery();
  }

  /** Returns what the memory is, in words. */
  public String describeMemory() {
    return running.memory().describe();
  }

  /** Returns the memory in which shards lie, for a device that has to know it. Mapped until the cache is closed. */
  public List<MemorySegment> memory() {
    return running.memory().regions();
  }

  @Override
  public Session attach(SessionSpec spec) {
    return turn(() -> new EmbeddedSession(this, core().attach(spec)));
  }

  @Override
  public CacheStats stats() {
    return turn(core()::stats);
  }

  @Override
  public boolean flush(Duration limit) throws InterruptedException {
    turn(() -> null);
    return running.flush(limit);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Waits up to 30 s for the SSD. If a grant is still held after that, memory stays mapped, since its holder may be
   * using it: that is logged, and ends with the process.
   */
  @Override
  public void close() {
    if (!running.stopAdmitting()) {
      return;
    }
    boolean quiet;
    try {
      running.settleStore();
      quiet = running.awaitGrants(durable ? Duration.ofSeconds(1) : Duration.ZERO);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      quiet = running.lastTurn(() -> core().grants() == 0, true);
    }
    running.close();
    if (quiet) {
      running.closeMemory();
    } else {
      LOG.log(Level.WARNING, "the cache was closed while grants were held; its memory stays mapped until the process ends");
    }
  }

  /** Runs an operation in a turn of the core. */
  <T> T turn(Supplier<T> action) {
    return running.turn(action);
  }

  /** Runs an operation that ends something, which may come while the cache closes, and after it does nothing. */
  void lastTurn(Runnable action) {
    running.lastTurn(action);
  }

  /** As {@link #lastTurn(Runnable)}, with a result. */
  <T> T lastTurn(Supplier<T> action, T afterClose) {
    return running.lastTurn(action, afterClose);
  }

  CacheCore core() {
    return running.core();
  }

  MemorySegment memory(long at, long bytes) {
    return running.memory().slice(at, bytes);
  }

  /** Says how an embedded cache is made. Not thread-safe. */
  public static final class Builder extends CacheBuilder<Builder> {

    /** The memory used unless another is named: this process's own, on huge pages where there are any. */
    public static final String DEFAULT_MEMORY = "private";

    private Builder() {
      super(DEFAULT_MEMORY);
    }

    @Override
    protected Builder self() {
      return this;
    }

    /**
     * Opens the cache.
     *
     * @throws RefusedException if a name, a size or a setting is wrong
     * @throws io.orbitkv.api.UnavailableException if the machine does not grant what is asked for
     */
    public EmbeddedCache open() {
      return new EmbeddedCache(RunningCache.open(parts()));
    }
  }
}
