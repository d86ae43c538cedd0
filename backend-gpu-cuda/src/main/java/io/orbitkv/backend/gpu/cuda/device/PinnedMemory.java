package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Host memory that is being pinned by a thread of its own, chunk behind chunk from the beginning. What cannot be pinned is
 * tried again each second: its pages may not have been there yet. Thread-safe.
 */
final class PinnedMemory implements HostRegion, PinnedChunks {

  private static final Logger LOG = System.getLogger(PinnedMemory.class.getName());

  private static final long RETRY_MILLIS = 1000;

  /** So long a chunk waits while loads are under way. */
  private static final Duration LONGEST_WAIT = Duration.ofMillis(100);

  private final Gpu gpu;
  private final long start;
  private final long bytes;
  private final long chunk;
  private final LoadsUnderWay loads;
  private final Consumer<PinnedMemory> closed;
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread thread;
  private volatile long pinned;

  /**
   * @param loads what chunks give way to
   * @param closed told when it is given up, before the first page is let go
   */
  PinnedMemory(Gpu gpu, MemorySegment memory, long chunk, LoadsUnderWay loads, Consumer<PinnedMemory> closed) {
    this.gpu = gpu;
    this.start = memory.address();
    this.bytes = memory.byteSize();
    this.chunk = chunk;
    this.loads = loads;
    this.closed = closed;
    this.thread = Thread.ofPlatform().daemon().name("orbitkv-pin").start(this::pin);
  }

  private void pin() {
    long began = System.nanoTime();
    boolean said = false;
    while (pinned < bytes && closing.getCount() > 0) {
      // The driver does one thing at a time. A load of 128 blocks was enqueued only when all 24 GiB were pinned, 2.2 s
      // after it was asked for.
      loads.giveWay(LONGEST_WAIT);
      long next = Math.min(chunk, bytes - pinned);
      try {
        gpu.pin(start + pinned, next);
        pinned += next;
      } catch (UnavailableException e) {
        if (!said) {
          LOG.log(Level.WARNING, "only " + pinned + " of " + bytes + " bytes of the cache's memory are pinned: "
              + e.getMessage() + "; blocks in the rest are not copied, and asked for again every second. "
              + "It may be locked memory (ulimit -l) or the machine's memory that is short");
          said = true;
        }
        if (awaitClosing()) {
          return;
        }
      }
    }
    if (pinned == bytes) {
      LOG.log(Level.INFO, bytes + " bytes of the cache's memory are pinned, after "
          + (System.nanoTime() - began) / 1_000_000 + " ms");
    }
  }

  private boolean awaitClosing() {
    try {
      return closing.await(RETRY_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException("nothing interrupts the thread that pins", e);
    }
  }

  /** Returns whether memory lies in what is pinned. */
  boolean covers(long address, long length) {
    return address >= start && address + length <= start + pinned;
  }

  /** Returns whether memory lies in what is or will be pinned. */
  boolean includes(long address, long length) {
    return address >= start && address + length <= start + bytes;
  }

  /** Waits until all of it is pinned, or it is given up. */
  void awaitPinned() {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  String progress() {
    return pinned + " of " + bytes + " bytes";
  }

  @Override
  public long chunkStart(long address) {
    return address - (address - start) % chunk;
  }

  @Override
  public long chunkEnd(long address) {
    return chunkStart(address) + chunk;
  }

  @Override
  public void close() {
    if (closing.getCount() == 0) {
      return;
    }
    closed.accept(this);
    closing.countDown();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    for (long at = 0; at < pinned; at += chunk) {
      gpu.unpin(start + at);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
