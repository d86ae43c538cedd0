package io.orbitkv.core;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.ResidencyPolicy;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.core.loop.CoreLoop;
import io.orbitkv.core.machine.CacheCore;
import io.orbitkv.core.machine.CoreLimits;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
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
  private static final long TICK_NANOS = Duration.ofMillis(250).toNanos();
  private static final Duration CLOSE_LIMIT = Duration.ofSeconds(30);

  private final MemoryPool pool;
  private final BlockStore store;
  private final CacheCore core;
  private final CoreLoop loop;
  private final RecoveryReport recovery;
  private boolean closing;
  private boolean closed;

  private EmbeddedCache(Builder builder) {
    // Names first: a misspelt one must not cost a reservation of memory.
    HostMemory memory = builder.backends.memory(builder.memory);
    ResidencyPolicy policy = builder.backends.policy(builder.policy);
    StorageBackend storage = builder.ssdDirectory == null ? null : builder.backends.storage(builder.storage);
    EvictionOrder order = policy.open(new PolicyOptions(
        Math.max(1, builder.dram.bytes() / builder.expectedBlock.bytes()), builder.seed, builder.policySettings));
    this.pool = memory.open(new MemoryOptions(
        builder.dram.bytes(), builder.runtimeDirectory, builder.memorySettings));
    BlockStore opened = null;
    CacheCore made = null;
    try {
      opened = storage == null ? null : storage.open(new StoreOptions(
          builder.ssdDirectory, builder.ssdCapacity.bytes(), builder.storageSettings));
      CoreLimits limits = CoreLimits.of(builder.dram.bytes());
      made = new CacheCore(pool, order, opened,
          builder.leaseBudget == null ? limits : limits.withLeaseBytes(builder.leaseBudget.bytes()),
          System::nanoTime, builder.seed);
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

  /** Returns a builder with the defaults, and no memory size. */
  public static Builder builder() {
    return new Builder();
  }

  /** Returns what was found on the SSD at the start, if there is one. */
  public Optional<RecoveryReport> recovery() {
    return Optional.ofNullable(recovery);
  }

  /** Returns what the memory is, in words. */
  public String describeMemory() {
    return pool.describe();
  }

  @Override
  public Session attach(SessionSpec spec) {
    return turn(() -> new EmbeddedSession(this, core.attach(spec)));
  }

  @Override
  public CacheStats stats() {
    return turn(core::stats);
  }

  @Override
  public boolean flush(Duration limit) throws InterruptedException {
    turn(() -> null);
    return await(core::isWritten, limit);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Waits up to 30 s for the SSD. If a grant is still held after that, memory stays mapped, since its holder may be
   * using it: that is logged, and ends with the process.
   */
  @Override
  public void close() {
    if (loop.call(() -> {
      boolean again = closing;
      closing = true;
      return again;
    })) {
      return;
    }
    boolean quiet = true;
    try {
      if (store != null) {
        await(core::isWritten, CLOSE_LIMIT);
        loop.run(core::sealStore);
        await(() -> core.storeRequests() == 0, CLOSE_LIMIT);
      }
      quiet = await(() -> core.grants() == 0, store == null ? Duration.ZERO : Duration.ofSeconds(1));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      quiet = loop.call(() -> core.grants() == 0);
    }
    if (store != null) {
      store.close();
    }
    loop.close();
    loop.run(() -> {
      closed = true;
      core.close();
    });
    if (quiet) {
      pool.close();
    } else {
      LOG.log(Level.WARNING, "the cache was closed while grants were held; its memory stays mapped until the process ends");
    }
  }

  /** Runs an operation in a turn of the core. */
  <T> T turn(Supplier<T> action) {
    return loop.call(() -> {
      if (closing) {
        throw new ClosedException("the cache is closed");
      }
      return action.get();
    });
  }

  /** Runs an operation that ends something, which may come while the cache closes, and after it does nothing. */
  void lastTurn(Runnable action) {
    loop.run(() -> {
      if (!closed) {
        action.run();
      }
    });
  }

  /** As {@link #lastTurn(Runnable)}, for a thread that must not wait for its turn. */
  private void lastEvent(Runnable action) {
    loop.post(() -> {
      if (!closed) {
        action.run();
      }
    });
  }

  /** As {@link #lastTurn(Runnable)}, with a result. */
  <T> T lastTurn(Supplier<T> action, T afterClose) {
    return loop.call(() -> closed ? afterClose : action.get());
  }

  CacheCore core() {
    return core;
  }

  MemorySegment memory(long at, long bytes) {
    return pool.slice(at, bytes);
  }

  /** Looks every millisecond: used where a person or a shutdown waits, never on a request. */
  private boolean await(BooleanSupplier condition, Duration limit) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!loop.call(condition::getAsBoolean)) {
      if (System.nanoTime() - deadline >= 0) {
        return false;
      }
      Thread.sleep(1);
    }
    return true;
  }

  /** Says how a cache is made. Not thread-safe. */
  public static final class Builder {

    /** The memory used unless another is named: this process's own, on huge pages where there are any. */
    public static final String DEFAULT_MEMORY = "private";

    /** The storage backend used unless another is named. */
    public static final String DEFAULT_STORAGE = "io_uring";

    /** The residency policy used unless another is named. */
    public static final String DEFAULT_POLICY = "hit-density";

    private Backends backends;
    private ByteSize dram;
    private ByteSize expectedBlock = new ByteSize(256 << 10);
    private ByteSize ssdCapacity;
    private ByteSize leaseBudget;
    private Path ssdDirectory;
    private Path runtimeDirectory = Path.of("/dev/shm", "orbitkv-" + System.getProperty("user.name"));
    private String memory = DEFAULT_MEMORY;
    private String storage = DEFAULT_STORAGE;
    private String policy = DEFAULT_POLICY;
    private final Map<String, String> memorySettings = new HashMap<>();
    private final Map<String, String> storageSettings = new HashMap<>();
    private final Map<String, String> policySettings = new HashMap<>();
    private long seed = System.nanoTime();

    private Builder() {}

    /** Takes providers from here instead of those installed. */
    public Builder backends(Backends chosen) {
      this.backends = Objects.requireNonNull(chosen, "backends");
      return this;
    }

    /** Sets the memory for blocks; required. */
    public Builder dram(ByteSize size) {
      this.dram = Objects.requireNonNull(size, "size");
      return this;
    }

    /** Chooses the provider of memory. */
    public Builder memory(String provider) {
      this.memory = Objects.requireNonNull(provider, "provider");
      return this;
    }

    /** Sets a setting of the provider of memory. */
    public Builder memorySetting(String key, String value) {
      memorySettings.put(key, value);
      return this;
    }

    /** Sets the private folder of memory that other processes map. */
    public Builder runtimeDirectory(Path directory) {
      this.runtimeDirectory = Objects.requireNonNull(directory, "directory");
      return this;
    }

    /** Adds an SSD tier: a folder, owned by this cache, and the most bytes of disk that it uses. */
    public Builder ssd(Path directory, ByteSize capacity) {
      this.ssdDirectory = Objects.requireNonNull(directory, "directory");
      this.ssdCapacity = Objects.requireNonNull(capacity, "capacity");
      return this;
    }

    /** Chooses the storage backend of the SSD tier. */
    public Builder storage(String backend) {
      this.storage = Objects.requireNonNull(backend, "backend");
      return this;
    }

    /** Sets a setting of the storage backend. */
    public Builder storageSetting(String key, String value) {
      storageSettings.put(key, value);
      return this;
    }

    /** Chooses the residency policy. */
    public Builder policy(String name) {
      this.policy = Objects.requireNonNull(name, "name");
      return this;
    }

    /** Sets a setting of the residency policy. */
    public Builder policySetting(String key, String value) {
      policySettings.put(key, value);
      return this;
    }

    /** Says how large most blocks will be, all ranks together, so that tables are sized well; 256 KiB if not said. */
    public Builder expectedBlock(ByteSize size) {
      if (size.bytes() < 1) {
        throw new RefusedException("expected block of " + size + "; expected at least 1B");
      }
      this.expectedBlock = size;
      return this;
    }

    /** Bounds the bytes that leases and pending reads may hold at once; three quarters of memory if not said. */
    public Builder leaseBudget(ByteSize total) {
      this.leaseBudget = Objects.requireNonNull(total, "total");
      return this;
    }

    /** Makes random choices repeatable. */
    public Builder seed(long value) {
      this.seed = value;
      return this;
    }

    /**
     * Opens the cache.
     *
     * @throws RefusedException if a name, a size or a setting is wrong
     * @throws io.orbitkv.api.UnavailableException if the machine does not grant what is asked for
     */
    public EmbeddedCache open() {
      if (dram == null || dram.bytes() < 1) {
        throw new RefusedException("the cache has no memory; state its size, as in dram(ByteSize.parse(\"1GiB\"))");
      }
      if (backends == null) {
        backends = Backends.installed();
      }
      return new EmbeddedCache(this);
    }
  }
}
