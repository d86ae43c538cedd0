package io.orbitkv.core.manager;

import io.orbitkv.core.wire.Connection;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Does what no turn may wait for: looks every 100 ms whether lost members are dead and whether accepted connections have
 * said hello, removes witnesses, and writes the log. Rests while there is nothing of that.
 */
final class Caretaker implements AutoCloseable {

  private static final long LOOK_NANOS = Duration.ofMillis(100).toNanos();

  private static final Logger LOG = System.getLogger(Caretaker.class.getName());

  private final Manager manager;
  /** Lines kept while whoever reads the log is slow; more are counted and not kept. */
  private static final int MOST_LINES = 256;

  /** How long a refused peer has to read why: it may be writing, and a closed connection would break that instead. */
  private static final long PARTING_NANOS = Duration.ofSeconds(1).toNanos();

  private static final int MOST_PARTING = 64;

  private record Parting(Connection connection, long since) {}

  private record Line(Level level, String text) {}

  private final Queue<Path> forgotten = new ConcurrentLinkedQueue<>();
  private final BlockingQueue<Parting> parting = new ArrayBlockingQueue<>(MOST_PARTING);
  private final BlockingQueue<Line> lines = new ArrayBlockingQueue<>(MOST_LINES);
  private final AtomicInteger left = new AtomicInteger();
  /** A permit for each reason to look; taken all at once. */
  private final Semaphore work = new Semaphore(0);
  private final Thread thread;
  private volatile boolean closed;

  Caretaker(Manager manager) {
    this.manager = manager;
    this.thread = Thread.ofPlatform().daemon().name("orbitkv-caretaker").unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** There is something to look for. */
  void wake() {
    work.release();
  }

  /** Has a refused connection closed when its peer had the time to read why, or at once if there are many such. */
  void closeSoon(Connection refused) {
    if (!parting.offer(new Parting(refused, System.nanoTime()))) {
      close(refused);
    }
    wake();
  }

  private void closeParting(boolean all) {
    for (Parting first = parting.peek(); first != null; first = parting.peek()) {
      if (!all && System.nanoTime() - first.since < PARTING_NANOS) {
        return;
      }
      close(parting.remove().connection);
    }
  }

  private static void close(Connection connection) {
    try {
      connection.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a refused connection was not closed well: {0}", e.getMessage());
    }
  }

  /** Has the witness of a member of which nothing is left removed; does not wait for it. */
  void forget(Path witness) {
    forgotten.add(witness);
    wake();
  }

  /** Has a line written to the log; does not wait for it. */
  void say(Level level, String text) {
    if (!lines.offer(new Line(level, text))) {
      left.incrementAndGet();
    }
    wake();
  }

  private void writeLines() {
    for (Line line = lines.poll(); line != null; line = lines.poll()) {
      LOG.log(line.level, line.text);
    }
    int missing = left.getAndSet(0);
    if (missing > 0) {
      LOG.log(Level.WARNING, "{0} lines were left out here: they came faster than the log took them", missing);
    }
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
      boolean waits = true;
      try {
        writeLines();
        removeForgotten();
        closeParting(false);
        waits = look() | manager.cutSilentConnections() | !parting.isEmpty();
      } catch (RuntimeException e) {
        // What is quarantined stays so; the next look may succeed.
        LOG.log(Level.ERROR, "the look for dead members failed", e);
      }
      rest(waits);
    }
  }

  /** Looks for lost members that are dead, and returns whether there are lost ones. */
  private boolean look() {
    List<Member> lost = manager.lostMembers();
    for (Member member : lost) {
      if (member.proof().isGiven()) {
        manager.gone(member);
      }
    }
    return !lost.isEmpty();
  }

  private void rest(boolean waits) {
    try {
      if (waits) {
        work.tryAcquire(LOOK_NANOS, TimeUnit.NANOSECONDS);
      } else {
        work.acquire();
      }
      work.drainPermits();
    } catch (InterruptedException e) {
      // Nobody interrupts it, and closing it has a flag.
      return;
    }
  }

  /** Ends the thread, and does what it left. */
  @Override
  public void close() {
    closed = true;
    wake();
    try {
      thread.join(Duration.ofSeconds(1));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    writeLines();
    removeForgotten();
    closeParting(true);
  }
}
