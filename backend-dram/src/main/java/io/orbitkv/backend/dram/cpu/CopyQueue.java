package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.UnavailableException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Transfers waiting for the threads that copy. Restores go before saves: a request waits for a restore, nobody waits
 * for a save.
 */
final class CopyQueue implements AutoCloseable {

  /** Most transfers that have portions left to take. */
  static final int MAX_TRANSFERS = 4096;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ArrayDeque<CpuTransfer> restores = new ArrayDeque<>();
  private final ArrayDeque<CpuTransfer> saves = new ArrayDeque<>();
  private final List<Thread> threads = new ArrayList<>();
  private boolean closed;

  CopyQueue(int threads) {
    for (int i = 0; i < threads; i++) {
      this.threads.add(Thread.ofPlatform().daemon().name("orbitkv-copy-" + i).start(this::copy));
    }
  }

  void add(RestoreTransfer transfer) {
    add(restores, transfer);
  }

  void add(SaveTransfer transfer) {
    add(saves, transfer);
  }

  private void add(ArrayDeque<CpuTransfer> queue, CpuTransfer transfer) {
    lock.lock();
    try {
      if (closed) {
        throw new ClosedException("device cpu was closed");
      }
      if (restores.size() + saves.size() >= MAX_TRANSFERS) {
        throw new UnavailableException("device cpu has " + MAX_TRANSFERS + " transfers waiting, which is its bound; "
            + "wait until some are drained");
      }
      if (!transfer.allTaken()) {
        queue.add(transfer);
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  private void copy() {
    while (true) {
      CpuTransfer transfer;
      int portion;
      lock.lock();
      try {
        while (restores.isEmpty() && saves.isEmpty()) {
          if (closed) {
            return;
          }
          changed.awaitUninterruptibly();
        }
        ArrayDeque<CpuTransfer> queue = restores.isEmpty() ? saves : restores;
        transfer = queue.element();
        portion = transfer.take();
        if (transfer.allTaken()) {
          queue.remove();
        }
      } finally {
        lock.unlock();
      }
      transfer.run(portion);
    }
  }

  /** Copies what is queued, then ends the threads. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
