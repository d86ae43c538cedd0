package io.orbitkv.core;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.core.assembly.CacheParts;
import io.orbitkv.core.machine.CoreLimits;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Says how a cache is made, whichever form it has. Not thread-safe.
 *
 * @param <B> the builder of one form, which every setting returns
 */
public abstract class CacheBuilder<B extends CacheBuilder<B>> {

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
  private String memory;
  private String storage = DEFAULT_STORAGE;
  private String policy = DEFAULT_POLICY;
  private final Map<String, String> memorySettings = new HashMap<>();
  private final Map<String, String> storageSettings = new HashMap<>();
  private final Map<String, String> policySettings = new HashMap<>();
  private long seed = System.nanoTime();

  /** @param memory the provider of memory used unless another is named */
  protected CacheBuilder(String memory) {
    this.memory = memory;
  }

  /** Returns this. */
  protected abstract B self();

  /** Takes providers from here instead of those installed. */
  public B backends(Backends chosen) {
    this.backends = Objects.requireNonNull(chosen, "backends");
    return self();
  }

  /** Sets the memory for blocks; required. */
  public B dram(ByteSize size) {
    this.dram = Objects.requireNonNull(size, "size");
    return self();
  }

  /** Chooses the provider of memory. */
  public B memory(String provider) {
    this.memory = Objects.requireNonNull(provider, "provider");
    return self();
  }

  /** Sets a setting of the provider of memory. */
  public B memorySetting(String key, String value) {
    memorySettings.put(key, value);
    return self();
  }

  /** Sets the private folder of memory that other processes map. */
  public B runtimeDirectory(Path directory) {
    this.runtimeDirectory = Objects.requireNonNull(directory, "directory");
    return self();
  }

  /** Adds an SSD tier: a folder, owned by this cache, and the most bytes of disk that it uses. */
  public B ssd(Path directory, ByteSize capacity) {
    this.ssdDirectory = Objects.requireNonNull(directory, "directory");
    this.ssdCapacity = Objects.requireNonNull(capacity, "capacity");
    return self();
  }

  /** Chooses the storage backend of the SSD tier. */
  public B storage(String backend) {
    this.storage = Objects.requireNonNull(backend, "backend");
    return self();
  }

  /** Sets a setting of the storage backend. */
  public B storageSetting(String key, String value) {
    storageSettings.put(key, value);
    return self();
  }

  /** Chooses the residency policy. */
  public B policy(String name) {
    this.policy = Objects.requireNonNull(name, "name");
    return self();
  }

  /** Sets a setting of the residency policy. */
  public B policySetting(String key, String value) {
    policySettings.put(key, value);
    return self();
  }

  /** Says how large most blocks will be, all ranks together, so that tables are sized well; 256 KiB if not said. */
  public B expectedBlock(ByteSize size) {
    if (size.bytes() < 1) {
      throw new RefusedException("expected block of " + size + "; expected at least 1B");
    }
    this.expectedBlock = size;
    return self();
  }

  /** Bounds the bytes that leases and pending reads may hold at once; three quarters of memory if not said. */
  public B leaseBudget(ByteSize total) {
    this.leaseBudget = Objects.requireNonNull(total, "total");
    return self();
  }

  /** Makes random choices repeatable. */
  public B seed(long value) {
    this.seed = value;
    return self();
  }

  /**
   * Chooses the providers and states what each is opened with, for the forms of a cache in this module.
   *
   * @throws RefusedException if a name or a size is wrong
   */
  @SuppressWarnings("exports") // The parts are this module's own; builders outside it have nothing to open.
  protected final CacheParts parts() {
    if (dram == null || dram.bytes() < 1) {
      throw new RefusedException("the cache has no memory; state its size, as in dram(ByteSize.parse(\"1GiB\"))");
    }
    Backends chosen = backends == null ? Backends.installed() : backends;
    CoreLimits limits = CoreLimits.of(dram.bytes());
    return new CacheParts(
        chosen.memory(memory),
        new MemoryOptions(dram.bytes(), runtimeDirectory, memorySettings),
        chosen.policy(policy),
        new PolicyOptions(Math.max(1, dram.bytes() / expectedBlock.bytes()), seed, policySettings),
        ssdDirectory == null ? Optional.empty() : Optional.of(new CacheParts.Ssd(chosen.storage(storage),
            new StoreOptions(ssdDirectory, ssdCapacity.bytes(), storageSettings))),
        leaseBudget == null ? limits : limits.withLeaseBytes(leaseBudget.bytes()),
        seed);
  }
}
