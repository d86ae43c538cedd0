package io.orbitkv.core.manager;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.nio.file.Path;

/**
 * The process behind a connection, as it stated itself and as it is seen here.
 *
 * @param software its name and version
 * @param pid its number in its own pid namespace
 * @param pidNamespace that namespace, zero if it is not known
 * @param startTime when it started, if its number means the same here, else zero
 * @param visible whether it does
 */
record Peer(String software, long pid, long pidNamespace, long startTime, boolean visible) {

  /**
   * Looks for the process that said hello.
   *
   * @throws RefusedException if it is not where it says it is
   */
  static Peer of(Request.Hello hello, Processes processes) {
    long own = processes.ownNamespace();
    if (own == 0 || hello.pidNamespace() != own) {
      return new Peer(hello.software(), hello.pid(), hello.pidNamespace(), 0, false);
    }
    try {
      long startTime = processes.startTime(hello.pid()).orElseThrow(() -> new RefusedException("process "
          + hello.pid() + " is not in pid namespace " + own + ", which both sides are in; state the sender's own pid"));
      return new Peer(hello.software(), hello.pid(), hello.pidNamespace(), startTime, true);
    } catch (IOException e) {
      throw new UnavailableException("process " + hello.pid() + " cannot be looked at: " + e.getMessage(), e);
    }
  }

  /** Returns how the death of this process is known, given the file that it locks. */
  Proof proof(Processes processes, Path witness) {
    return visible ? new Proof.Exit(processes, pid, startTime) : new Proof.Unlocked(witness);
  }

  /** Returns whether another connection came from the same process. */
  boolean isSameProcess(Peer other) {
    return pid == other.pid && pidNamespace == other.pidNamespace && startTime == other.startTime;
  }
}
