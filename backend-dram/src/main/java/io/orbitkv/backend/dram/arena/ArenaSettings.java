package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import java.util.Map;

/**
 * How a pool is taken.
 *
 * @param capacityBytes the pool's size, a multiple of {@link MemoryPool#ALIGNMENT}
 * @param slabBytes bytes that become ready at once, a multiple of {@link Mapping#HUGE_PAGE_BYTES}
 */
record ArenaSettings(long capacityBytes, long slabBytes) {

  private static final String SLAB_BYTES = "slab-bytes";
  private static final String DEFAULT_SLAB_BYTES = "256MiB";
  private static final long MAX_CAPACITY = (long) Integer.MAX_VALUE * MemoryPool.ALIGNMENT;

  /** Reads the settings; the capacity is rounded down to whole units. */
  static ArenaSettings of(MemoryOptions options) {
    Map<String, String> settings = options.settings();
    for (String name : settings.keySet()) {
      if (!name.equals(SLAB_BYTES)) {
        throw new RefusedException("unknown memory setting '" + name + "', expected " + SLAB_BYTES);
      }
    }
    long slab = ByteSize.parse(settings.getOrDefault(SLAB_BYTES, DEFAULT_SLAB_BYTES)).bytes();
    if (slab == 0 || slab % Mapping.HUGE_PAGE_BYTES != 0) {
      throw new RefusedException(SLAB_BYTES + " is " + new ByteSize(slab) + ", expected a multiple of "
          + new ByteSize(Mapping.HUGE_PAGE_BYTES) + ", as in " + DEFAULT_SLAB_BYTES);
    }
    long capacity = options.capacityBytes() & -MemoryPool.ALIGNMENT;
    if (capacity == 0 || capacity > MAX_CAPACITY) {
      throw new RefusedException("memory capacity is " + options.capacityBytes() + " bytes, expected "
          + MemoryPool.ALIGNMENT + " to " + MAX_CAPACITY);
    }
    return new ArenaSettings(capacity, slab);
  }

  /** Returns these settings for a file system whose pages may be larger. */
  ArenaSettings withSlabsOfPages(long pageBytes) {
    return new ArenaSettings(capacityBytes, roundUp(slabBytes, pageBytes));
  }

  static long roundUp(long bytes, long unit) {
    return (bytes + unit - 1) / unit * unit;
  }
}
