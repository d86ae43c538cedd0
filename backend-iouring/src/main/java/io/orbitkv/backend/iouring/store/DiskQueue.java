package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.Errno;
import io.orbitkv.backend.iouring.file.StoreFile;
import io.orbitkv.backend.iouring.file.TransferRules;
import java.lang.foreign.MemorySegment;

/**
 * Transfers of any length over a {@link StoreFile}: keeps as many in flight as the file takes, makes short ones whole,
 * turns errnos into statuses, and lets all who wait for durability share a sync. Used by one thread.
 */
final class DiskQueue {

  /** How often a transfer may come back without progress before it counts as failed. */
  private static final int MOST_FRUITLESS = 16;

  /** How much may be verified before the device is served again: some tens of microseconds. */
  private static final long READ_BYTES_A_TURN = 256 << 10;

  private final StoreFile file;
  private final StoreFile.Completions completions = this::completed;
  private final DiskTransfer[] slots;
  private final int[] freeSlots;
  private int free;

  private final Fifo waiting = new Fifo();

  /** Done by the device, and not yet looked at. */
  private final Fifo finished = new Fifo();

  private final SharedSync sync = new SharedSync();

  DiskQueue(StoreFile file) {
    this.file = file;
    this.slots = new DiskTransfer[file.depth()];
    this.freeSlots = new int[slots.length];
    for (int slot = 0; slot < slots.length; slot++) {
      freeSlots[slot] = slots.length - 1 - slot;
    }
    this.free = slots.length;
  }

  void read(DiskTransfer transfer, MemorySegment target, long position) {
    begin(transfer, DiskTransfer.Kind.READ, target, position);
    waiting.addLast(transfer);
  }

  void write(DiskTransfer transfer, MemorySegment source, long position) {
    begin(transfer, DiskTransfer.Kind.WRITE, source, position);
    waiting.addLast(transfer);
  }

  /** Waits until all writes that have ended before this call are durable. */
  void sync(DiskTransfer transfer) {
    transfer.kind = DiskTransfer.Kind.SYNC;
    sync.join(transfer);
  }

  /** Returns whether nothing waits and nothing is in flight. */
  boolean isIdle() {
    return waiting.isEmpty() && free == slots.length && finished.isEmpty() && sync.isIdle();
  }

  /**
   * Hands to the device as much as it takes, and ends some of what it has done: a device often ends many reads at once,
   * and would stand still if all of them were verified before it is given more.
   *
   * @param wait whether to wait for the end of a transfer or a wake of the file, if there is nothing to end
   */
  void turn(boolean wait) {
    issue();
    int reaped = file.poll(completions, wait && finished.isEmpty());
    if (reaped > 0 && !waiting.isEmpty()) {
      // Before anything else: the device has idle slots.
      issue();
      file.poll(completions, false);
    }
    long read = 0;
    while (!finished.isEmpty() && read < READ_BYTES_A_TURN) {
      DiskTransfer transfer = finished.removeFirst();
      if (transfer.kind == DiskTransfer.Kind.READ) {
        read += transfer.memory.byteSize();
      }
      transfer.ended(transfer.outcome);
    }
  }

  private static void begin(DiskTransfer transfer, DiskTransfer.Kind kind, MemorySegment memory, long position) {
    transfer.kind = kind;
    transfer.memory = memory;
    transfer.position = position;
    transfer.done = 0;
    transfer.fruitless = 0;
  }

  private void issue() {
    while (free > 0 && !waiting.isEmpty()) {
      DiskTransfer transfer = waiting.removeFirst();
      int slot = freeSlots[--free];
      slots[slot] = transfer;
      transfer.inFlight = true;
      if (transfer.kind == DiskTransfer.Kind.SYNC) {
        file.sync(slot);
        continue;
      }
      long length = Math.min(TransferRules.MAX_BYTES, transfer.memory.byteSize() - transfer.done);
      MemorySegment part = length == transfer.memory.byteSize()
          ? transfer.memory
          : transfer.memory.asSlice(transfer.done, length);
      if (transfer.kind == DiskTransfer.Kind.READ) {
        file.read(slot, part, transfer.position + transfer.done);
      } else {
        file.write(slot, part, transfer.position + transfer.done);
      }
    }
  }

  private void completed(long token, int result) {
    DiskTransfer transfer = release((int) token);
    if (result < 0) {
      if (isTransient(-result) && ++transfer.fruitless <= MOST_FRUITLESS) {
        waiting.addFirst(transfer);
      } else {
        finish(transfer, statusOf(-result));
      }
      return;
    }
    if (transfer.kind == DiskTransfer.Kind.SYNC) {
      finish(transfer, StoreStatus.OK);
      return;
    }
    long missing = transfer.memory.byteSize() - transfer.done;
    if (result > missing) {
      throw new IllegalStateException("transfer of " + missing + " bytes ended with " + result);
    }
    if (result == missing) {
      finish(transfer, StoreStatus.OK);
      return;
    }
    // What is left must begin on a page again, as direct transfers need it.
    long progress = result & -Page.BYTES;
    if (result == 0 || progress == 0 && ++transfer.fruitless > MOST_FRUITLESS) {
      finish(transfer, StoreStatus.IO_ERROR);
      return;
    }
    transfer.done += progress;
    waiting.addFirst(transfer);
  }

  private void finish(DiskTransfer transfer, StoreStatus outcome) {
    transfer.outcome = outcome;
    finished.addLast(transfer);
  }

  private static boolean isTransient(int errno) {
    return errno == Errno.EAGAIN.number() || errno == Errno.EINTR.number();
  }

  private static StoreStatus statusOf(int errno) {
    if (errno == Errno.ENOSPC.number() || errno == Errno.EDQUOT.number()) {
      return StoreStatus.NO_SPACE;
    }
    return errno == Errno.EROFS.number() ? StoreStatus.READ_ONLY : StoreStatus.IO_ERROR;
  }

  private DiskTransfer release(int slot) {
    DiskTransfer transfer = slots[slot];
    if (transfer == null) {
      throw new IllegalStateException("completion for slot " + slot + ", in which nothing is in flight");
    }
    slots[slot] = null;
    transfer.inFlight = false;
    freeSlots[free++] = slot;
    return transfer;
  }

  /** Transfers linked through themselves. */
  private static final class Fifo {

    private DiskTransfer first;
    private DiskTransfer last;

    boolean isEmpty() {
      return first == null;
    }

    void addLast(DiskTransfer transfer) {
      transfer.next = null;
      if (first == null) {
        first = transfer;
      } else {
        last.next = transfer;
      }
      last = transfer;
    }

    void addFirst(DiskTransfer transfer) {
      transfer.next = first;
      if (first == null) {
        last = transfer;
      }
      first = transfer;
    }

    DiskTransfer removeFirst() {
      DiskTransfer transfer = first;
      first = transfer.next;
      transfer.next = null;
      return transfer;
    }
  }

  /**
   * One sync for all who wait. Those who come while one is in flight wait for the next: their writes may have ended
   * after it began.
   */
  private final class SharedSync extends DiskTransfer {

    private DiskTransfer served;
    private DiskTransfer joining;

    void join(DiskTransfer transfer) {
      transfer.next = joining;
      joining = transfer;
      if (served == null) {
        start();
      }
    }

    boolean isIdle() {
      return served == null && joining == null;
    }

    private void start() {
      served = joining;
      joining = null;
      kind = Kind.SYNC;
      fruitless = 0;
      // Before the transfers that wait: they do not depend on it, and whoever waits for it does.
      waiting.addFirst(this);
    }

    @Override
    void ended(StoreStatus status) {
      DiskTransfer ready = served;
      served = null;
      if (joining != null) {
        start();
      }
      while (ready != null) {
        DiskTransfer following = ready.next;
        ready.next = null;
        ready.ended(status);
        ready = following;
      }
    }
  }
}
