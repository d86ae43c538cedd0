package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.spi.Transfer;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Shards on their way into pages. Everything was enqueued when its maker got it. Nobody has to wait for it: it is drained
 * by whoever asks first.
 */
final class RestoreTransfer implements Transfer {

  private final GpuPages pages;
  private final Watch watch;
  private final long[] bandEvents;
  private final Throwable failure;
  private final Runnable release;
  /** Held by the one that waits, who gives the events back: after that they answer for other work. */
  private final ReentrantLock waiter = new ReentrantLock();
  private boolean drained;

  /**
   * @param bandEvents one a band, recorded behind it
   * @param failure why not everything was enqueued, or null
   * @param release gives back what it used, when it is drained
   */
  RestoreTransfer(GpuPages pages, Watch watch, long[] bandEvents, Throwable failure, Runnable release) {
    this.pages = pages;
    this.watch = watch;
    this.bandEvents = bandEvents;
    this.failure = failure;
    this.release = release;
  }

  @Override
  public boolean enqueued() {
    return true;
  }

  @Override
  public synchronized boolean layerReady(int layer) {
    Objects.checkIndex(layer, pages.layout().layers());
    return failure == null && (drained || watch.complete(bandEvents[pages.bandOf(layer)]));
  }

  @Override
  public boolean drained() {
    synchronized (this) {
      if (drained || !watch.complete(last())) {
        return drained;
      }
    }
    if (waiter.tryLock()) {
      try {
        end();
      } finally {
        waiter.unlock();
      }
    }
    return true;
  }

  @Override
  public void awaitDrained() {
    waiter.lock();
    try {
      if (!isDrained()) {
        watch.await(last(), pages.owner());
        end();
      }
    } finally {
      waiter.unlock();
    }
  }

  private long last() {
    return bandEvents[bandEvents.length - 1];
  }

  private synchronized boolean isDrained() {
    return drained;
  }

  private synchronized void end() {
    if (!drained) {
      drained = true;
      release.run();
    }
  }

  @Override
  public Optional<Throwable> failure() {
    return isDrained() ? Optional.ofNullable(failure) : Optional.empty();
  }

  @Override
  public int checksum(int index) {
    throw new IllegalStateException("a restore has no checksums");
  }
}
