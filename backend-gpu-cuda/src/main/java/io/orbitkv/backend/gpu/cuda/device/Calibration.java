package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.gpu.cuda.driver.CopyList;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Measures, when an engine opens its pool and loads are {@link CopyMode#AUTO}, how fast each way moves blocks of its very
 * pages, beside one copy of as many bytes. It copies out of the pages, into memory that it gives back: the pages are not
 * written, and what they hold does not matter. It takes about a tenth of a second.
 */
final class Calibration {

  private static final Logger LOG = System.getLogger(Calibration.class.getName());

  private static final long BYTES = 64 << 20;
  private static final int MOST_BLOCKS = 1024;
  private static final int ROUNDS = 5;

  /** Loads of a busy engine come one behind another, so that little waits for the first copies to be asked for. */
  private static final int IN_A_ROW = 4;

  /**
   * Copy engines that reach so much of one copy are fast enough, and leave the engine alone. It is measured outwards, where
   * they reach less than in loads: on an H200 87 and 97 % of 32 KiB, 81 and 98 % of 64 KiB in 36 allocations.
   */
  private static final double ENOUGH = 0.80;

  private final Gpu gpu;
  private final CopyKernel kernel;
  private final Watch watch;

  Calibration(Gpu gpu, CopyKernel kernel, Watch watch) {
    this.gpu = gpu;
    this.kernel = kernel;
    this.watch = watch;
  }

  /** Returns how loads into these pages are to be copied. */
  CopyMode choose(GpuPages pages) {
    try (CopyLane lane = new CopyLane(gpu, kernel, watch, false)) {
      int blocks = Math.min(pages.layout().pages(), Math.clamp(BYTES / pages.shardBytes(), 1, MOST_BLOCKS));
      long bytes = (long) blocks * pages.shardBytes();
      MemorySegment host = gpu.allocateHost(bytes);
      try {
        return choose(lane, pages, blocks, host);
      } finally {
        gpu.freeHost(host);
      }
    } catch (UnavailableException e) {
      LOG.log(Level.WARNING, "loads are copied by the copy engines, since nothing could be measured: " + e.getMessage());
      return CopyMode.DIRECT;
    }
  }

  private CopyMode choose(CopyLane lane, GpuPages pages, int blocks, MemorySegment host) {
    int shardBytes = pages.shardBytes();
    PinnedChunks[] chunks = new PinnedChunks[blocks];
    Arrays.fill(chunks, PinnedChunks.whole(host.address(), host.byteSize()));
    long[] shards = IntStream.range(0, blocks).mapToLong(i -> host.address() + (long) i * shardBytes).toArray();
    int[] pageIds = new SplittableRandom(blocks).ints(0, pages.layout().pages()).distinct().limit(blocks).toArray();
    BlockCopies copies = new BlockCopies(pageIds, shards, chunks);
    double direct = rate(IN_A_ROW * host.byteSize(), () -> direct(lane, pages, copies));
    double byKernel = rate(IN_A_ROW * host.byteSize(), () -> byKernel(lane, pages, copies));
    double one = oneCopy(host);
    CopyMode chosen = direct < ENOUGH * one && byKernel > direct ? CopyMode.KERNEL : CopyMode.DIRECT;
    LOG.log(Level.INFO, String.format("%d blocks of %d bytes in pieces of %d: copy engines %.1f GB/s, kernel %.1f GB/s, "
        + "one copy %.1f GB/s, so loads go by %s", blocks, shardBytes, pages.layout().groups().getFirst().pageBytes(),
        direct, byKernel, one, chosen == CopyMode.KERNEL ? "the kernel" : "the copy engines"));
    return chosen;
  }

  private void direct(CopyLane lane, GpuPages pages, BlockCopies copies) {
    for (int i = 0; i < IN_A_ROW; i++) {
      pages.loadBands().forEach(band -> lane.direct(band, copies, 0, copies.count()));
    }
    drain(lane);
  }

  private void byKernel(CopyLane lane, GpuPages pages, BlockCopies copies) {
    KernelBlocks blocks = lane.kernelBlocks(copies, 0, copies.count());
    for (int i = 0; i < IN_A_ROW; i++) {
      for (int band = 0; band < pages.loadBands().size(); band++) {
        lane.kernel(pages, band, blocks);
      }
    }
    drain(lane);
    lane.give(blocks);
  }

  private void drain(CopyLane lane) {
    long event = gpu.event();
    lane.record(event);
    watch.await(event, Owner.unknown());
    gpu.endEvent(event);
  }

  private double oneCopy(MemorySegment host) {
    long memory = gpu.allocate(host.byteSize());
    long event = gpu.event();
    long stream = gpu.stream(false);
    try (CopyList copy = new CopyList()) {
      copy.add(memory, host.address(), (int) host.byteSize(), false);
      return rate(IN_A_ROW * host.byteSize(), () -> {
        for (int i = 0; i < IN_A_ROW; i++) {
          gpu.copy(stream, copy, false);
        }
        gpu.record(event, stream);
        watch.await(event, Owner.unknown());
      });
    } finally {
      gpu.endStream(stream);
      gpu.endEvent(event);
      gpu.free(memory);
    }
  }

  private static double rate(long bytes, Runnable copies) {
    copies.run();
    long best = Long.MAX_VALUE;
    for (int i = 0; i < ROUNDS; i++) {
      long began = System.nanoTime();
      copies.run();
      best = Math.min(best, System.nanoTime() - began);
    }
    return (double) bytes / best;
  }
}
