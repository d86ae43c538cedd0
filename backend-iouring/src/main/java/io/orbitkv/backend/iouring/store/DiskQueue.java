package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.Errno;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.lang.foreign.MemorySegment;

/**
 * Transfers of any length over a {@link StoreFile}: divides long ones, keeps as many parts in flight as the file takes,
 * makes short ones whole, turns errnos into statuses, and lets all who wait for durability share a sync. Used by one
 * thread.
 */
final class DiskQueue {

  /** How often a part may come back without progress before it counts as failed. */
  private static final int MOST_FRUITLESS = 16;

  /** How much may be verified before the device is served again: some tens of microseconds. */
  private static final long READ_BYTES_A_TURN = 256 << 10;

  /**
   * The longest request to the device. Devices serve a few longer ones more slowly than many of this length, since what
   * is in flight then comes and goes in larger lumps (docs/performance.md).
   */
  static final int PART_BYTES = 512 << 10;

  private final StoreFile file;
  private final long partBytes;
  private final StoreFile.Completions completions = this::completed;

  /** By slot. One for each request that the file takes. */
  private final Part[] parts;

  private final Part[] freeParts;
  private int free;

  /** To be given to the file again, before anything that has not begun. */
  private Part unfinished;

  private final Fifo waiting = new Fifo();

  /** Done by the device, and not yet looked at. */
  private final Fifo finished = new Fifo();

  private final SharedSync sync = new SharedSync();

  DiskQueue(StoreFile file) {
    this(file, PART_BYTES);
  }

  DiskQueue(StoreFile file, long partBytes) {
    this.file = file;
    this.partBytes = partBytes;
    this.parts = new Part[file.depth()];
    this.freeParts = new Part[parts.length];
    for (int slot = 0; slot < parts.length; slot++) {
      parts[slot] = new Part(slot);
      freeParts[parts.length - 1 - slot] = parts[slot];
    }
    this.free = parts.length;
  }

  void read(DiskTransfer transfer, MemorySegment target, long position) {
    add(transfer, DiskTransfer.Kind.READ, target, position);
  }

  void write(DiskTransfer transfer, MemorySegment source, long position) {
    add(transfer, DiskTransfer.Kind.WRITE, source, position);
  }

  /** Waits until all writes that have ended before this call are durable. */
  void sync(DiskTransfer transfer) {
    transfer.kind = DiskTransfer.Kind.SYNC;
    sync.join(transfer);
  }

  /** Returns whether nothing waits and nothing is in flight. */
  boolean isIdle() {
    return waiting.isEmpty() && free == parts.length && finished.isEmpty() && sync.isIdle();
  }

  /** Returns whether the device takes more. */
  boolean hasRoom() {
    return free > 0;
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
    if (reaped > 0 && (unfinished != null || !waiting.isEmpty())) {
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

  private void add(DiskTransfer transfer, DiskTransfer.Kind kind, MemorySegment memory, long position) {
    transfer.kind = kind;
    transfer.memory = memory;
    transfer.position = position;
    transfer.issued = 0;
    transfer.outcome = StoreStatus.OK;
    waiting.addLast(transfer);
  }

  /** Hands to the device as much as it takes; it begins with the next {@link #turn}. */
  void issue() {
    while (unfinished != null) {
      Part part = unfinished;
      unfinished = part.next;
      part.next = null;
      give(part);
    }
    while (free > 0 && !waiting.isEmpty()) {
      DiskTransfer transfer = waiting.first();
      Part part = freeParts[--free];
      part.begin(transfer, partBytes);
      if (isIssued(transfer)) {
        waiting.removeFirst();
      }
      give(part);
    }
  }

  private static boolean isIssued(DiskTransfer transfer) {
    return transfer.kind == DiskTransfer.Kind.SYNC || transfer.issued == transfer.memory.byteSize();
  }

  private void give(Part part) {
    DiskTransfer transfer = part.transfer;
    switch (transfer.kind) {
      case SYNC -> file.sync(part.slot);
      case READ -> file.read(part.slot, part.memory(), transfer.position + part.from);
      case WRITE -> file.write(part.slot, part.memory(), transfer.position + part.from);
    }
  }

  private void completed(long token, int result) {
    Part part = parts[(int) token];
    if (part.transfer == null) {
      throw new IllegalStateException("completion for slot " + token + ", in which nothing is in flight");
    }
    if (result < 0) {
      if (isTransient(-result) && ++part.fruitless <= MOST_FRUITLESS) {
        giveAgain(part);
      } else {
        end(part, statusOf(-result));
      }
      return;
    }
    if (result > part.bytes) {
      throw new IllegalStateException("transfer of " + part.bytes + " bytes ended with " + result);
    }
    if (result == part.bytes) {
      end(part, StoreStatus.OK);
      return;
    }
    // What is left must begin on a page again, as direct transfers need it.
    long progress = result & -Page.BYTES;
    if (result == 0 || progress == 0 && ++part.fruitless > MOST_FRUITLESS) {
      end(part, StoreStatus.IO_ERROR);
      return;
    }
    part.from += progress;
    part.bytes -= progress;
    giveAgain(part);
  }

  private void giveAgain(Part part) {
    part.next = unfinished;
    unfinished = part;
  }

  private void end(Part part, StoreStatus status) {
    DiskTransfer transfer = part.transfer;
    part.transfer = null;
    freeParts[free++] = part;
    transfer.parts--;
    if (status != StoreStatus.OK && transfer.outcome == StoreStatus.OK) {
      transfer.outcome = status;
      if (!isIssued(transfer)) {
        waiting.remove(transfer);
        transfer.issued = transfer.memory.byteSize();
      }
    }
    if (transfer.parts == 0 && isIssued(transfer)) {
      finished.addLast(transfer);
    }
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

  /** A part of a transfer, and the slot of the file that it passes through. */
  private static final class Part {

    final int slot;
    DiskTransfer transfer;

    /** What of the transfer is still to be done. */
    long from;

    long bytes;
    int fruitless;
    Part next;

    Part(int slot) {
      this.slot = slot;
    }

    void begin(DiskTransfer transfer, long mostBytes) {
      this.transfer = transfer;
      from = transfer.issued;
      bytes = transfer.kind == DiskTransfer.Kind.SYNC ? 0 : Math.min(mostBytes, transfer.memory.byteSize() - from);
      fruitless = 0;
      transfer.issued += bytes;
      transfer.parts++;
    }

    MemorySegment memory() {
      return bytes == transfer.memory.byteSize() ? transfer.memory : transfer.memory.asSlice(from, bytes);
    }
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

    DiskTransfer first() {
      return first;
    }

    /** Removes from wherever it is, which is near the front. */
    void remove(DiskTransfer transfer) {
      DiskTransfer before = null;
      DiskTransfer at = first;
      while (at != transfer) {
        before = at;
        at = at.next;
      }
      if (before == null) {
        first = transfer.next;
      } else {
        before.next = transfer.next;
      }
      if (last == transfer) {
        last = before;
      }
      transfer.next = null;
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
      outcome = StoreStatus.OK;
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
