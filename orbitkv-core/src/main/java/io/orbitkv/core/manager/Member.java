package io.orbitkv.core.manager;

import io.orbitkv.core.wire.Protocol;
import java.nio.file.Path;

/**
 * One part of a registered engine instance, as one connection stated it.
 *
 * @param number the Manager's number for it, never used again
 * @param generation the registration that it is a part of
 * @param role a rank, {@link Protocol#SCHEDULER} or {@link Protocol#ALL_RANKS}
 * @param process who is behind the connection
 * @param witness the file that it keeps locked
 * @param proof how its death is known
 */
record Member(long number, Generation generation, int role, Peer process, Path witness, Proof proof) {

  /** Returns it as messages name it. */
  @Override
  public String toString() {
    String part = switch (role) {
      case Protocol.ALL_RANKS -> "all ranks";
      case Protocol.SCHEDULER -> "the scheduler";
      default -> "rank " + role;
    };
    return part + " of instance '" + generation.spec().instance() + "' (generation " + generation.number() + ", process "
        + process.pid() + ")";
  }
}
