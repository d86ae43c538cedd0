package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/**
 * Measures, when an engine opens its pool and loads are {@link CopyMode#AUTO}, how fast each way loads blocks of its
 * layout. It costs some milliseconds and, for so long, {@link #BYTES} of the GPU's memory.
 */
final class Calibration {

  private static final Logger LOG = System.getLogger(Calibration.class.getName());

  private static final long BYTES = 64 << 20;
  private static final int ROUNDS = 5;

  /** The kernel has to be so much faster: what it costs the engine is not seen here. */
  private static final double WORTHWHILE = 1.06;

  private final Gpu gpu;
  private final LoadLane lane;
  private final Watch watch;

  Calibration(Gpu gpu, LoadLane lane, Watch watch) {
    this.gpu = gpu;
    this.lane = lane;
    this.watch = watch;
  }

  /** Returns how loads of such a pool are to be copied. */
  CopyMode choose(PoolLayout layout, int bands) {
    int blocks = Math.clamp(BYTES / layout.shardBytes(), 1, 1024);
    PoolLayout scratch = shrunk(layout, blocks);
    try {
      long pool = gpu.allocate(scratch.poolBytes());
      try {
        return choose(scratch, pool, blocks, bands);
      } finally {
        gpu.free(pool);
      }
    } catch (UnavailableException e) {
      LOG.log(Level.WARNING, "loads are copied by the copy engines, since nothing could be measured: " + e.getMessage());
      return CopyMode.DIRECT;
    }
  }

  private CopyMode choose(PoolLayout scratch, long pool, int blocks, int bands) {
    long bytes = (long) blocks * scratch.shardBytes();
    MemorySegment host = gpu.allocateHost(bytes);
    PoolAddresses addresses = new PoolAddresses(List.of(new PoolAddresses.Range(0, scratch.poolBytes(), pool)));
    try (GpuPages pages = new GpuPages(gpu, watch, scratch, addresses, bands, OptionalLong.empty(), () -> {})) {
      PinnedChunks[] chunks = new PinnedChunks[blocks];
      Arrays.fill(chunks, PinnedChunks.whole(host.address(), bytes));
      long[] shards =
          IntStream.range(0, blocks).mapToLong(i -> host.address() + (long) i * scratch.shardBytes()).toArray();
      // Backwards, so that no two pages continue each other.
      int[] pageIds = IntStream.range(0, blocks).map(i -> blocks - 1 - i).toArray();
      BlockCopies copies = new BlockCopies(pageIds, shards, chunks);
      double direct = rate(pages, copies, CopyMode.DIRECT, bytes);
      double kernel = rate(pages, copies, CopyMode.KERNEL, bytes);
      CopyMode chosen = kernel > WORTHWHILE * direct ? CopyMode.KERNEL : CopyMode.DIRECT;
      LOG.log(Level.INFO, String.format("loads of blocks of %d bytes in pieces of %d: copy engines %.1f GB/s, kernel "
          + "%.1f GB/s, so %s", scratch.shardBytes(), scratch.groups().getFirst().pageBytes(), direct, kernel,
          chosen == CopyMode.KERNEL ? "the kernel" : "the copy engines"));
      return chosen;
    } finally {
      gpu.freeHost(host);
    }
  }

  private double rate(GpuPages pages, BlockCopies copies, CopyMode mode, long bytes) {
    long best = Long.MAX_VALUE;
    for (int i = 0; i < ROUNDS; i++) {
      long began = System.nanoTime();
      RestoreTransfer load = lane.begin(pages, copies, mode, OptionalLong.empty());
      load.awaitDrained();
      load.failure().ifPresent(cause -> {
        throw new UnavailableException("a load to measure failed: " + cause.getMessage(), cause);
      });
      best = Math.min(best, System.nanoTime() - began);
    }
    return (double) bytes / best;
  }

  /** Returns the same layers with fewer pages. */
  private static PoolLayout shrunk(PoolLayout layout, int pages) {
    List<PageLayout> groups = new ArrayList<>();
    long base = 0;
    for (PageLayout group : layout.groups()) {
      boolean layerMajor = group.layers() > 1 && group.layerStride() > group.pageStride();
      long bytes = group.pageBytes();
      groups.add(layerMajor
          ? new PageLayout(base, group.layers(), pages, group.pageBytes(), bytes * pages, bytes)
          : new PageLayout(base, group.layers(), pages, group.pageBytes(), bytes, bytes * group.layers()));
      base = groups.getLast().poolBytes();
    }
    return new PoolLayout(groups);
  }
}
