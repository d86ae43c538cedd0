package io.orbitkv.benchmarks;

import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.core.Backends;
import java.nio.file.Path;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Frees a random extent and allocates another of a random size, in a pool that is kept at a fill level. The reference
 * is a stack of free slots of one size: the least that any allocator can do, for which mixed sizes do not exist.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class AllocatorBenchmark {

  private static final long CAPACITY = 256L << 20;
  private static final int SMALLEST = 16 << 10;

  /** Share of the pool in use, in percent. */
  @Param({"50", "90"})
  int fill;

  private final SplittableRandom random = new SplittableRandom(1);
  private MemoryPool pool;
  private long[] extents;
  private int count;
  private int[] freeSlots;
  private int[] usedSlots;
  private int free;

  /** Fills pool and stack to the level. */
  @Setup(Level.Trial)
  public void fill() throws InterruptedException {
    pool = Backends.installed().memory("private").open(
        new MemoryOptions(CAPACITY, Path.of(System.getProperty("java.io.tmpdir")), Map.of()));
    while (pool.readyBytes() < CAPACITY) {
      Thread.sleep(1);
    }
    int slots = (int) (CAPACITY / SMALLEST);
    extents = new long[slots];
    count = 0;
    while (pool.allocatedBytes() < CAPACITY * fill / 100) {
      allocate();
    }
    usedSlots = new int[slots * fill / 100];
    freeSlots = new int[slots];
    for (int i = 0; i < usedSlots.length; i++) {
      usedSlots[i] = i;
    }
    free = slots - usedSlots.length;
    for (int i = 0; i < free; i++) {
      freeSlots[i] = usedSlots.length + i;
    }
  }

  /** Gives the memory back. */
  @TearDown(Level.Trial)
  public void close() {
    pool.close();
  }

  /** Extents of 16 KiB to 2 MiB. */
  @Benchmark
  public long pool() {
    int which = random.nextInt(count);
    pool.free(extents[which]);
    extents[which] = extents[--count];
    do {
      allocate();
    } while (pool.allocatedBytes() < CAPACITY * fill / 100);
    return pool.allocatedBytes();
  }

  /** Slots of one size. */
  @Benchmark
  public int stackOfSlots() {
    int which = random.nextInt(usedSlots.length);
    freeSlots[free++] = usedSlots[which];
    return usedSlots[which] = freeSlots[--free];
  }

  private void allocate() {
    long offset = pool.allocate((long) SMALLEST << random.nextInt(8));
    if (offset != MemoryPool.NONE) {
      extents[count++] = offset;
    }
  }
}
