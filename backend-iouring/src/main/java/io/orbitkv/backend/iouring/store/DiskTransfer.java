package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.MemorySegment;

/**
 * Something that has one transfer or sync under way at a time. It is itself the node of the queues and the occupant of
 * the slot that the transfer passes through, so that a transfer costs no object beside it.
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
  long done;

  /** How it ended, from then until {@link #ended} is called. */
  StoreStatus outcome;

  int fruitless;

  /** Whether the file has it. A sync is not its waiters': it holds no memory of theirs. */
  boolean inFlight;

  DiskTransfer next;

  /** Called by the queue when the transfer is whole, or will never be. May ask for the next one. */
  abstract void ended(StoreStatus status);
}
