package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.backend.gpu.cuda.driver.CopyList;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.util.ArrayDeque;

/**
 * Enqueues the copies of one direction, which run in the order in which they were enqueued. Used by one thread at a time,
 * except {@link #give}.
 */
final class CopyLane implements AutoCloseable {

  private static final int LEAST_KERNEL_BLOCKS = 1024;

  private final Gpu gpu;
  private final CopyKernel kernel;
  private final boolean toPool;
  private final CopyStreams streams;
  private final CopyList copies = new CopyList();
  private final ArrayDeque<KernelBlocks> freeBlocks = new ArrayDeque<>();

  CopyLane(Gpu gpu, CopyKernel kernel, int streams, boolean toPool) {
    this.gpu = gpu;
    this.kernel = kernel;
    this.toPool = toPool;
    this.streams = new CopyStreams(gpu, streams, toPool);
  }

  /** Has what is enqueued from now on wait for an event. */
  void follow(long event) {
    streams.follow(event);
  }

  /** Puts an event behind everything that is enqueued. */
  void record(long event) {
    streams.record(event);
  }

  /** Writes a number to pinned host memory behind everything that is enqueued. */
  void write(long address, int value) {
    streams.write(address, value);
  }

  /** Enqueues a band of some blocks for the copy engines. Part of it may be enqueued if it throws. */
  void direct(Band band, BlockCopies blocks, int from, int to) {
    copies.clear();
    for (Run run : band.runs()) {
      for (int i = from; i < to; i++) {
        add(run, run.address(blocks.page(i)), blocks.shard(i) + run.shardAt(), blocks.chunks(i));
      }
    }
    if (copies.count() > 0) {
      streams.copy(copies, toPool);
    }
  }

  private void add(Run run, long device, long host, PinnedChunks chunks) {
    int row = 0;
    while (row < run.rows()) {
      long rowDevice = device + row * run.pitch();
      long rowHost = host + row * run.shardPitch();
      int left = run.rows() - row;
      long behindFirst = chunks.chunkEnd(rowHost) - rowHost - run.rowBytes();
      int whole = left == 1 || behindFirst < 0 ? 0 : (int) Math.min(left, 1 + behindFirst / run.shardPitch());
      if (whole > 1) {
        copies.add(rowDevice, rowHost, run.pitch(), run.shardPitch(), run.rowBytes(), whole);
        row += whole;
      } else {
        addPiece(rowDevice, rowHost, run.rowBytes(), chunks);
        row++;
      }
    }
  }

  private void addPiece(long device, long host, int bytes, PinnedChunks chunks) {
    for (int done = 0; done < bytes;) {
      long at = host + done;
      int next = (int) Math.min(bytes - done, chunks.chunkEnd(at) - at);
      copies.add(device + done, at, next, at != chunks.chunkStart(at));
      done += next;
    }
  }

  /** Takes room for a kernel's blocks and enqueues them. Given back when the launches are complete. */
  KernelBlocks kernelBlocks(BlockCopies blocks, int from, int to) {
    KernelBlocks filled = take(to - from);
    filled.fill(blocks.pages(), blocks.shards(), from, to);
    copies.clear();
    copies.add(filled.address(), filled.hostAddress(), filled.bytes(), false);
    gpu.copy(streams.array(), 1, copies, true);
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
      kernel.launch(streams.first(), stripes, blocks, toPool);
    }
  }

  @Override
  public void close() {
    synchronized (freeBlocks) {
      freeBlocks.forEach(blocks -> blocks.free(gpu));
    }
    streams.close();
    copies.close();
  }
}
