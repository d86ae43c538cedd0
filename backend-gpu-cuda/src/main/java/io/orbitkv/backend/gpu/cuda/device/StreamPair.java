package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Has a second thread ask for half of the copies, in a stream of its own. One thread asks for a piece in 0.4 to 0.9 us,
 * whatever its size, and the bus takes 0.6 us for 32 KiB: on an H200 one thread moved 37 to 54 GB/s of such pieces, two 53
 * to 54. More threads are no faster, since the driver lets one in at a time. Used by one thread at a time.
 */
final class StreamPair implements AutoCloseable {

  private final Gpu gpu;
  private final Watch watch;
  private final CopyStream second;
  private final long behind;
  private final ExecutorService asking =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("orbitkv-copy").factory());

  StreamPair(Gpu gpu, Watch watch, boolean toPool) {
    this.gpu = gpu;
    this.watch = watch;
    this.second = new CopyStream(gpu, toPool);
    this.behind = gpu.event();
  }

  /** Has what is enqueued in the second stream from now on wait for an event. */
  void follow(long event) {
    second.follow(event);
  }

  /**
   * Enqueues a band of some blocks, the first half of them in a first stream. What is enqueued there from then on is behind
   * all of them. Part of it may be enqueued if it throws.
   */
  void copy(CopyStream first, Band band, BlockCopies blocks, int from, int to) {
    int middle = from + (to - from) / 2;
    CompletableFuture<Void> secondHalf =
        CompletableFuture.runAsync(() -> second.copy(band, blocks, middle, to), asking);
    try {
      first.copy(band, blocks, from, middle);
    } catch (RuntimeException e) {
      failureOf(secondHalf).ifPresent(e::addSuppressed);
      rejoin(first);
      throw e;
    }
    Optional<RuntimeException> failure = failureOf(secondHalf);
    rejoin(first);
    if (failure.isPresent()) {
      throw failure.get();
    }
  }

  /** Waits until the other thread has asked for its half, and returns why not for all of it. */
  private static Optional<RuntimeException> failureOf(CompletableFuture<Void> half) {
    try {
      half.join();
      return Optional.empty();
    } catch (CompletionException e) {
      return Optional.of(e.getCause() instanceof RuntimeException cause ? cause : e);
    }
  }

  private void rejoin(CopyStream first) {
    try {
      second.record(behind);
      first.follow(behind);
    } catch (UnavailableException e) {
      throw watch.unknown("the copies of two streams could not be joined: " + e.getMessage());
    }
  }

  @Override
  public void close() {
    asking.close();
    second.close();
    gpu.endEvent(behind);
  }
}
