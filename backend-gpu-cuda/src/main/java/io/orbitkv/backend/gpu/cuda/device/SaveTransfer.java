package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32C;

/**
 * Pages on their way into shards. It is drained when its last checksum is there.
 *
 * <p>Checksums are of the shards, after their copies: the source is on the GPU, and to sum it there would take
 * multiprocessors from the engine. What was copied wrongly in between would pass; the bus has checksums of its own for
 * that.
 */
final class SaveTransfer implements Transfer {

  private final GpuPages pages;
  private final BlockCopies blocks;
  private final MemorySegment[] shards;
  private final long askedNanos = System.nanoTime();
  private final int[] checksums;
  private final AtomicInteger left;
  private final CountDownLatch drained = new CountDownLatch(1);
  private volatile boolean enqueued;
  private volatile Throwable failure;

  SaveTransfer(GpuPages pages, BlockCopies blocks, MemorySegment[] shards) {
    this.pages = pages;
    this.blocks = blocks;
    this.shards = shards.clone();
    this.checksums = new int[blocks.count()];
    this.left = new AtomicInteger(blocks.count());
    if (blocks.count() == 0) {
      enqueued = true;
      drained.countDown();
    }
  }

  GpuPages pages() {
    return pages;
  }

  BlockCopies blocks() {
    return blocks;
  }

  long askedNanos() {
    return askedNanos;
  }

  void enqueuedAll() {
    enqueued = true;
  }

  void fail(Throwable cause) {
    failure = cause;
  }

  boolean failed() {
    return failure != null;
  }

  /** States that the copies of some blocks have ended, and sums them. Never throws. */
  void copied(int from, int to) {
    try {
      if (failure == null) {
        CRC32C crc = new CRC32C();
        for (int i = from; i < to; i++) {
          crc.reset();
          crc.update(shards[i].asSlice(0, pages.shardBytes()).asByteBuffer());
          checksums[i] = (int) crc.getValue();
        }
      }
    } catch (RuntimeException | Error e) {
      failure = e;
    } finally {
      if (left.addAndGet(from - to) == 0) {
        drained.countDown();
      }
    }
  }

  @Override
  public boolean enqueued() {
    return enqueued;
  }

  /** A save has no order of layers: each has left the pages when all have. */
  @Override
  public boolean layerReady(int layer) {
    Objects.checkIndex(layer, pages.layout().layers());
    return drained() && failure == null;
  }

  @Override
  public boolean drained() {
    return drained.getCount() == 0;
  }

  @Override
  public void awaitDrained() {
    boolean interrupted = false;
    while (true) {
      try {
        drained.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public Optional<Throwable> failure() {
    return drained() ? Optional.ofNullable(failure) : Optional.empty();
  }

  @Override
  public int checksum(int index) {
    if (!drained()) {
      throw new IllegalStateException("the save is not drained; its checksums are not complete");
    }
    failure().ifPresent(cause -> {
      throw new IllegalStateException("the save failed; it has no checksums", cause);
    });
    return checksums[index];
  }
}
