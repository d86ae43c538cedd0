package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A transfer divided into portions, which the device's threads take one by one. A portion is about {@link
 * #PORTION_BYTES}: large against the cost of taking it, small enough that two threads end together.
 */
abstract class CpuTransfer implements Transfer {

  static final int PORTION_BYTES = 1 << 20;

  final HostPages pages;
  final MemorySegment pool;
  final int[] pageIds;
  final MemorySegment[] shards;
  private final AtomicInteger left;
  private final int portions;
  private final CountDownLatch drained = new CountDownLatch(1);
  private volatile Throwable failure;
  private int taken;

  CpuTransfer(HostPages pages, int[] pageIds, MemorySegment[] shards, int portions) {
    this.pages = pages;
    this.pool = pages.pool();
    // The caller may use its arrays again at once.
    this.pageIds = pageIds.clone();
    this.shards = shards.clone();
    this.portions = portions;
    this.left = new AtomicInteger(portions);
    if (portions == 0) {
      drained.countDown();
    }
  }

  /** Copies one portion. */
  abstract void copy(int portion);

  /** Takes the next portion, or -1 if all are taken. Under the lock of the device's queue. */
  final int take() {
    return taken < portions ? taken++ : -1;
  }

  /** Returns whether every portion is taken. Under the lock of the device's queue. */
  final boolean allTaken() {
    return taken == portions;
  }

  /** Copies a portion that was taken, or passes over it if an earlier one failed. Never throws. */
  final void run(int portion) {
    try {
      if (failure == null) {
        copy(portion);
      }
    } catch (RuntimeException | Error e) {
      // As of an engine that cut its file short under the mapping: the VM reports that as an InternalError.
      failure = e;
    } finally {
      if (left.decrementAndGet() == 0) {
        drained.countDown();
      }
    }
  }

  @Override
  public final boolean enqueued() {
    return true;
  }

  @Override
  public final boolean drained() {
    return drained.getCount() == 0;
  }

  @Override
  public final Optional<Throwable> failure() {
    return drained() ? Optional.ofNullable(failure) : Optional.empty();
  }

  @Override
  public final void awaitDrained() {
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
}
