package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.MemoryPool;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** A mapping that is being taken, and the allocator over what is ready of it. */
final class ArenaPool implements MemoryPool {

  /** Gives back what the mapping lies on, after it is unmapped. */
  @FunctionalInterface
  interface Ground {
    void release();
  }

  private final String kind;
  private final Optional<Path> file;
  private final Mapping mapping;
  private final Ground ground;
  private final MemorySegment memory;
  private final SlabTaker slabs;
  private final ExtentAllocator extents = new ExtentAllocator();
  private final AtomicBoolean closed = new AtomicBoolean();

  private ArenaPool(
      String kind, Optional<Path> file, Mapping mapping, long capacityBytes, SlabTaker slabs, Ground ground) {
    this.kind = kind;
    this.file = file;
    this.mapping = mapping;
    this.ground = ground;
    this.memory = mapping.memory().asSlice(0, capacityBytes);
    this.slabs = slabs;
  }

  /**
   * Takes the first slab and starts to take the others.
   *
   * @param kind what the memory is, in words
   * @param file what it lies on, if others can map it
   * @param mapping the memory, owned by the pool from here on
   * @param ground what to release after it; stays the caller's if this throws
   */
  static ArenaPool open(
      String kind, Optional<Path> file, Mapping mapping, ArenaSettings settings, Ground ground) {
    SlabTaker slabs;
    try {
      slabs = new SlabTaker(mapping, mapping.memory().byteSize(), settings.slabBytes());
    } catch (IOException e) {
      mapping.close();
      throw new UnavailableException("the first " + new ByteSize(settings.slabBytes()) + " of " + kind
          + " were not granted: " + e.getMessage(), e);
    }
    ArenaPool pool = new ArenaPool(kind, file, mapping, settings.capacityBytes(), slabs, ground);
    // Half of the processors: the engine starts on the same machine at the same time.
    slabs.start(Math.max(1, Runtime.getRuntime().availableProcessors() / 2));
    return pool;
  }

  @Override
  public long capacityBytes() {
    return memory.byteSize();
  }

  @Override
  public long readyBytes() {
    return Math.min(memory.byteSize(), slabs.readyBytes());
  }

  @Override
  public long allocate(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("extent of " + bytes + " bytes, expected at least 1");
    }
    extents.grow(readyUnits());
    if (bytes > memory.byteSize()) {
      return NONE;
    }
    int unit = extents.allocate((int) ((bytes + ALIGNMENT - 1) / ALIGNMENT));
    return unit == ExtentAllocator.NONE ? NONE : (long) unit * ALIGNMENT;
  }

  @Override
  public void free(long offset) {
    if (offset < 0 || offset >= memory.byteSize() || offset % ALIGNMENT != 0) {
      throw new IllegalStateException(
          "offset " + offset + " is no extent of a pool of " + memory.byteSize() + " bytes");
    }
    extents.free((int) (offset / ALIGNMENT));
  }

  @Override
  public long allocatedBytes() {
    return extents.allocatedUnits() * ALIGNMENT;
  }

  @Override
  public long largestFreeBytes() {
    return (long) extents.largestFree(readyUnits()) * ALIGNMENT;
  }

  private int readyUnits() {
    return (int) (readyBytes() / ALIGNMENT);
  }

  @Override
  public MemorySegment slice(long offset, long bytes) {
    return memory.asSlice(offset, bytes);
  }

  @Override
  public List<MemorySegment> regions() {
    return List.of(memory);
  }

  @Override
  public Optional<Path> file() {
    return file;
  }

  @Override
  public String describe() {
    return kind + ", " + slabs.describe();
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      slabs.close();
      try {
        mapping.close();
      } finally {
        ground.release();
      }
    }
  }
}
