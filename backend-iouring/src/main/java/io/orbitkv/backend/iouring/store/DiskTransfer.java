package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.MemorySegment;

/**
 * Something that has one transfer or sync under way at a time. It is itself the node of the queues, so that a transfer
 * costs no object beside it.
 */
abstract class DiskTransfer {

  /** What is under way. */
  enum Kind {
    READ,
    WRITE,
    SYNC
  }

  Kind kind;
  MemorySegment memory;
  long position;

  /** Bytes from the start that parts have been made of. */
  long issued;

  /** Parts that the file has, or is to be given again. A sync is not its waiters': it holds no memory of theirs. */
  int parts;

  /** How it ends: the first failure of a part, if there is one. */
  StoreStatus outcome;

  DiskTransfer next;

  /** Returns whether the file may have memory of it. */
  final boolean inFlight() {
    return parts > 0;
  }

  /** Called by the queue when the transfer is whole, or will never be. May ask for the next one. */
  abstract void ended(StoreStatus status);
}
