package io.orbitkv.core.manager;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Looks every 100 ms whether lost members are dead, and whether connections that were accepted have said hello. Rests
 * while there are neither. It reads files, so it does so outside turns.
 */
final class DeathWatch implements AutoCloseable {

  private static final long LOOK_NANOS = Duration.ofMillis(100).toNanos();

  private static final Logger LOG = System.getLogger(DeathWatch.class.getName());

  private final Manager manager;
  private final Queue<Path> forgotten = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean closed;

  DeathWatch(Manager manager) {
    this.manager = manager;
    this.thread = Thread.ofPlatform().daemon().name("orbitkv-death-watch").unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** There is something to look for. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** Has the witness of a member of which nothing is left removed; does not wait for it. */
  void forget(Path witness) {
    forgotten.add(witness);
    wake();
  }

  private void removeForgotten() {
    for (Path witness = forgotten.poll(); witness != null; witness = forgotten.poll()) {
      try {
        Files.deleteIfExists(witness);
      } catch (IOException e) {
        LOG.log(Level.WARNING, "witness {0} cannot be removed: {1}", witness, e.getMessage());
      }
    }
  }

  private void run() {
    while (!closed) {
      try {
        removeForgotten();
        List<Member> lost = manager.lostMembers();
        boolean silent = manager.cutSilentConnections();
        for (Member member : lost) {
          if (member.proof().isGiven()) {
            manager.gone(member);
          }
        }
        if (lost.isEmpty() && !silent) {
          LockSupport.park(this);
        } else {
          LockSupport.parkNanos(this, LOOK_NANOS);
        }
      } catch (RuntimeException e) {
        // What is quarantined stays so; the next look may succeed.
        LOG.log(Level.ERROR, "the look for dead members failed", e);
        LockSupport.parkNanos(this, LOOK_NANOS);
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    wake();
  }
}
