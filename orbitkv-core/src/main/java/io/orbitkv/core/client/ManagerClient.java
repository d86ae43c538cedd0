package io.orbitkv.core.client;

import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A cache that a node Manager owns, reached through its socket. Bytes are read and written in the Manager's arena, which
 * this process maps; only requests go through the socket.
 *
 * <p>When the Manager is gone, queries miss at once, saves want nothing and restores are refused; sessions register again
 * as soon as a Manager listens. No request waits longer than its deadline.
 *
 * <p>Thread-safe. One thread of its own looks after connections.
 */
public final class ManagerClient implements Cache {

  /** How long a request may take unless said otherwise. */
  public static final Duration DEFAULT_DEADLINE = Duration.ofSeconds(2);

  private static final Duration LONGEST_FLUSH = Duration.ofMillis(500);
  private static final long LONGEST_REST_NANOS = Duration.ofSeconds(10).toNanos();

  private static final Logger LOG = System.getLogger(ManagerClient.class.getName());

  private final Path socket;
  private final Duration deadline;
  private final Function<MemorySegment, HostRegion> mapped;
  /** A permit for each reason to look after sessions; taken all at once. */
  private final Semaphore work = new Semaphore(0);
  private final Thread keeper;
  private final Set<ClientSession> sessions = ConcurrentHashMap.newKeySet();
  private Line line;
  private volatile boolean closed;

  private ManagerClient(Path socket, Duration deadline, Function<MemorySegment, HostRegion> mapped) {
    this.socket = socket.toAbsolutePath();
    this.deadline = deadline;
    this.mapped = mapped;
    this.keeper = Thread.ofPlatform().daemon().name("orbitkv-client").unstarted(this::keep);
  }

  /**
   * Connects to a Manager.
   *
   * @param socket its socket, in the folder that its arena lies in
   * @throws UnavailableException if none answers
   * @throws RefusedException if it is of another release
   */
  public static ManagerClient open(Path socket) {
    return open(socket, DEFAULT_DEADLINE);
  }

  /**
   * As {@link #open(Path)}, with another deadline for a request.
   *
   * @param deadline how long a request may take before its connection is given up
   */
  public static ManagerClient open(Path socket, Duration deadline) {
    return open(socket, deadline, arena -> () -> {});
  }

  /**
   * As {@link #open(Path, Duration)}, for a device that has to know the memory in which shards lie.
   *
   * @param mapped told of each arena when it is mapped; what it returns is closed before the arena is unmapped
   */
  public static ManagerClient open(Path socket, Duration deadline, Function<MemorySegment, HostRegion> mapped) {
    ManagerClient client = new ManagerClient(socket, deadline, mapped);
    try {
      client.line = client.connect();
    } catch (IOException e) {
      throw client.unreachable(e);
    }
    client.keeper.start();
    return client;
  }

  /** Attaches a process that is a whole instance by itself. */
  @Override
  public Session attach(SessionSpec spec) {
    return attach(spec, Membership.whole());
  }

  /**
   * Attaches a member of an engine instance. The instance serves when all its ranks are attached.
   *
   * @param spec what the instance is; its members state the same
   * @param membership which part of it this is
   * @return the session of this member: a scheduler's asks, a rank's restores and saves
   * @throws RefusedException if the instance has another shape, or a later start of it is attached
   * @throws UnavailableException if the Manager does not answer, or takes no more
   */
  public Session attach(SessionSpec spec, Membership membership) {
    requireOpen();
    ClientSession session = new ClientSession(this, spec, membership);
    try {
      session.register();
    } catch (IOException e) {
      throw unreachable(e);
    }
    sessions.add(session);
    wake();
    return session;
  }

  @Override
  public CacheStats stats() {
    try {
      return switch (call(new Request.Stats(), deadline)) {
        case Reply.Statistics statistics -> statistics.stats();
        case Reply.Refused refused -> throw Line.error(refused);
        case Reply other -> throw new IOException("the Manager replied with " + other.getClass().getSimpleName());
      };
    } catch (IOException e) {
      throw unreachable(e);
    }
  }

  /** Returns which Manager answered last: one that was started in its place has another number. */
  public synchronized long incarnation() {
    return line.welcome().incarnation();
  }

  @Override
  public boolean flush(Duration limit) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    do {
      if (Thread.interrupted()) {
        throw new InterruptedException("interrupted while blocks were written");
      }
      Duration part = Duration.ofNanos(Math.clamp(end - System.nanoTime(), 0, LONGEST_FLUSH.toNanos()));
      try {
        if (call(new Request.Flush((int) part.toMillis()), deadline.plus(part)) instanceof Reply.Flushed flushed
            && flushed.all()) {
          return true;
        }
      } catch (IOException e) {
        LOG.log(Level.WARNING, "the Manager at {0} went while blocks were written: {1}", socket, e.getMessage());
        return false;
      }
    } while (System.nanoTime() - end < 0);
    return false;
  }

  /** Asks for something that belongs to no session. A line that broke is made anew. */
  private Reply call(Request request, Duration limit) throws IOException {
    Line now;
    synchronized (this) {
      requireOpen();
      if (line.isBroken()) {
        line = connect();
      }
      now = line;
    }
    return now.call(request, limit);
  }

  Line connect() throws IOException {
    return Line.connect(socket, deadline);
  }

  /** Tells of an arena that was mapped. */
  HostRegion mapped(MemorySegment arena) {
    return mapped.apply(arena);
  }

  /** Returns the folder that the Manager's files lie in. */
  Path folder() {
    return socket.getParent();
  }

  Path socket() {
    return socket;
  }

  private UnavailableException unreachable(IOException cause) {
    return new UnavailableException(
        "no Manager answers at " + socket + ": " + cause.getMessage() + "; start one with 'orbitkv manager'", cause);
  }

  private void requireOpen() {
    if (closed) {
      throw new ClosedException("the client of the Manager at " + socket + " is closed");
    }
  }

  // ---- its thread

  void wake() {
    work.release();
  }

  /** A session was closed; it is looked after until nothing of it is in use. */
  void forget(ClientSession session) {
    wake();
  }

  private void keep() {
    while (!closed || !sessions.isEmpty()) {
      long next = System.nanoTime() + LONGEST_REST_NANOS;
      for (ClientSession session : sessions) {
        try {
          long due = session.tend();
          next = due - next < 0 ? due : next;
        } catch (RuntimeException e) {
          LOG.log(Level.ERROR, "a session could not be looked after", e);
        }
        if (session.isOver()) {
          sessions.remove(session);
        }
      }
      rest(next - System.nanoTime());
    }
  }

  private void rest(long nanos) {
    try {
      if (!closed || !sessions.isEmpty()) {
        work.tryAcquire(Math.max(0, nanos), TimeUnit.NANOSECONDS);
      }
      work.drainPermits();
    } catch (InterruptedException e) {
      // Nobody interrupts it, and closing it has a flag.
      return;
    }
  }

  /**
   * Closes every session and gives up the connection. The Manager and what it holds stay. Grants that are held stay with
   * their holders, and the arena stays mapped for them. Idempotent.
   */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      line.close();
    }
    sessions.forEach(ClientSession::close);
    wake();
  }
}
