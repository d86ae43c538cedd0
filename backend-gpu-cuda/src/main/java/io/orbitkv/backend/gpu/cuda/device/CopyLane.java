package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.util.ArrayDeque;

/**
 * Enqueues the copies of one direction, in no order among themselves. Used by one thread at a time, except {@link #give}.
 */
final class CopyLane implements AutoCloseable {

  private static final int LEAST_KERNEL_BLOCKS = 1024;

  /** To ask for this many takes longer than to wake another thread. */
  private static final int SHARED_FROM = 512;

  private final Gpu gpu;
  private final CopyKernel kernel;
  private final boolean toPool;
  private final CopyStream stream;
  private final StreamPair pair;
  private final ArrayDeque<KernelBlocks> freeBlocks = new ArrayDeque<>();

  CopyLane(Gpu gpu, CopyKernel kernel, Watch watch, boolean toPool) {
    this.gpu = gpu;
    this.kernel = kernel;
    this.toPool = toPool;
    this.stream = new CopyStream(gpu, toPool);
    this.pair = new StreamPair(gpu, watch, toPool);
  }

  /** Has what is enqueued from now on wait for an event. */
  void follow(long event) {
    stream.follow(event);
    pair.follow(event);
  }

  /** Puts an event behind everything that was enqueued so far. */
  void record(long event) {
    stream.record(event);
  }

  /** Writes a number to pinned host memory behind everything that is enqueued. */
  void write(long address, int value) {
    gpu.write(stream.handle(), address, value);
  }

  /** Enqueues a band of some blocks for the copy engines. Part of it may be enqueued if it throws. */
  void direct(Band band, BlockCopies blocks, int from, int to) {
    if ((long) band.runs().size() * (to - from) >= SHARED_FROM) {
      pair.copy(stream, band, blocks, from, to);
    } else {
      stream.copy(band, blocks, from, to);
    }
  }

  /** Takes room for a kernel's blocks and enqueues them. Given back when the launches are complete. */
  KernelBlocks kernelBlocks(BlockCopies blocks, int from, int to) {
    KernelBlocks filled = take(to - from);
    filled.fill(blocks.pages(), blocks.shards(), from, to);
    stream.bring(filled.address(), filled.hostAddress(), filled.bytes());
    return filled;
  }

  private KernelBlocks take(int count) {
    synchronized (freeBlocks) {
      KernelBlocks free = freeBlocks.poll();
      if (free != null && free.capacity() >= count) {
        return free;
      }
      if (free != null) {
        free.free(gpu);
      }
    }
    return new KernelBlocks(gpu, Math.max(LEAST_KERNEL_BLOCKS, Integer.highestOneBit(2 * count - 1)));
  }

  void give(KernelBlocks blocks) {
    synchronized (freeBlocks) {
      freeBlocks.push(blocks);
    }
  }

  /** Enqueues a band of some blocks for the kernel. */
  void kernel(GpuPages pages, int band, KernelBlocks blocks) {
    for (GpuPages.Stripes stripes : pages.stripes(band)) {
      kernel.launch(stream.handle(), stripes, blocks, toPool);
    }
  }

  @Override
  public void close() {
    synchronized (freeBlocks) {
      freeBlocks.forEach(blocks -> blocks.free(gpu));
    }
    pair.close();
    stream.close();
  }
}
