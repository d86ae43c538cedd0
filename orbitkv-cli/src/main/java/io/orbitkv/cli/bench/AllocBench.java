package io.orbitkv.cli.bench;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.terminal.Progress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Allocates and frees extents of mixed sizes at random for long, at one fill level after the other, and tells how
 * broken up the free memory is then, how often a request found no extent, and how fast it went.
 */
public final class AllocBench {

  /** The shares of the memory that are kept in extents, one level after the other. */
  public static final List<Double> FILL_LEVELS = List.of(0.50, 0.80, 0.90, 0.95);

  private final Settings settings;

  /**
   * @param settings what is measured
   */
  public AllocBench(Settings settings) {
    this.settings = settings;
  }

  /**
   * What is measured.
   *
   * @param minBytes smallest extent
   * @param maxBytes largest extent; sizes between are spread evenly by their logarithm
   * @param operations allocations and frees at each fill level
   * @param seed decides sizes and order
   */
  public record Settings(long minBytes, long maxBytes, long operations, long seed) {

    /** Checks the sizes. */
    public Settings {
      if (minBytes < 1 || maxBytes < minBytes) {
        throw new RefusedException(
            "extents of " + minBytes + " to " + maxBytes + " bytes, expected at least 1 and the larger last");
      }
      if (operations < 1) {
        throw new RefusedException("operations are " + operations + ", expected at least 1");
      }
    }
  }

  /**
   * What was measured at one fill level.
   *
   * @param fill share of the memory that was kept in extents
   * @param extents extents at the end
   * @param fragmentation 1 - largest free extent / free bytes, at the end
   * @param failureRate share of the allocations that found no extent
   * @param operationsPerSecond allocations and frees a second
   */
  public record Level(
      double fill, int extents, double fragmentation, double failureRate, double operationsPerSecond) {}

  /**
   * Runs all levels on one pool, each after the one before.
   *
   * @param pool an empty pool, all of whose memory is taken
   * @param progress told of levels done
   * @return one result a level
   */
  public List<Level> run(MemoryPool pool, Progress progress) {
    if (settings.maxBytes() > pool.capacityBytes() / 16) {
      throw new RefusedException("extents of up to " + settings.maxBytes() + " bytes in " + pool.capacityBytes()
          + ", expected memory of at least 16 times the largest");
    }
    SplittableRandom random = new SplittableRandom(settings.seed());
    long[] sizes = new long[1 << 16];
    Arrays.setAll(sizes, i -> logUniform(random));
    long[] extents = new long[Math.toIntExact(pool.capacityBytes() / MemoryPool.ALIGNMENT)];
    int count = 0;
    List<Level> levels = new ArrayList<>();
    for (double fill : FILL_LEVELS) {
      long target = (long) (fill * pool.capacityBytes());
      long attempts = 0;
      long failures = 0;
      long start = System.nanoTime();
      for (long i = 0; i < settings.operations(); i++) {
        int die = random.nextInt();
        if (pool.allocatedBytes() < target) {
          attempts++;
          long offset = pool.allocate(sizes[die & sizes.length - 1]);
          if (offset != MemoryPool.NONE) {
            extents[count++] = offset;
            continue;
          }
          failures++;
        }
        int which = (die & Integer.MAX_VALUE) % count;
        pool.free(extents[which]);
        extents[which] = extents[--count];
      }
      double seconds = (System.nanoTime() - start) / 1e9;
      long free = pool.capacityBytes() - pool.allocatedBytes();
      levels.add(new Level(fill, count, 1 - (double) pool.largestFreeBytes() / free, (double) failures / attempts,
          settings.operations() / seconds));
      progress.advanceTo(levels.size());
    }
    for (int i = 0; i < count; i++) {
      pool.free(extents[i]);
    }
    return levels;
  }

  private long logUniform(SplittableRandom random) {
    double low = Math.log(settings.minBytes());
    double high = Math.log(settings.maxBytes());
    return Math.round(Math.exp(low + (high - low) * random.nextDouble()));
  }
}
