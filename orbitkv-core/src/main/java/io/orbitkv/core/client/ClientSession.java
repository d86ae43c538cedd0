package io.orbitkv.core.client;

import io.orbitkv.api.Answer;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Lease;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.Ticket;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Reply.Refusal;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * An engine instance's member at a Manager. While the Manager is gone it answers for it: a miss, a save that wants
 * nothing, a restore that is refused; and it registers again as soon as there is one.
 */
final class ClientSession implements Session {

  private static final long FIRST_PAUSE_NANOS = Duration.ofMillis(50).toNanos();
  private static final long LONGEST_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();
  private static final long IDLE_NANOS = Duration.ofSeconds(1).toNanos();

  private static final Logger LOG = System.getLogger(ClientSession.class.getName());

  private final ManagerClient client;
  private final SessionSpec spec;
  private final Membership membership;
  /** Orders the numbering of queries as they are sent: the Manager refuses a lower number after a higher one. */
  private final Object numbering = new Object();
  private long lastOperation = -1;
  /** What may be used now; null while there is none. */
  private volatile Registration current;
  private volatile boolean closed;

  // Guarded by this.
  private final List<Registration> retired = new ArrayList<>();
  /** Retired registrations of which nothing is in use any more and of which the Manager may not know that. */
  private final List<Registration> drained = new ArrayList<>();
  private boolean givenUp;
  private long pauseNanos = FIRST_PAUSE_NANOS;
  private long nextTry;

  ClientSession(ManagerClient client, SessionSpec spec, Membership membership) {
    this.client = client;
    this.spec = spec;
    this.membership = membership;
  }

  /** Registers, for the first time or again. */
  void register() throws IOException {
    Line line = client.connect();
    try {
      Registration[] made = new Registration[1];
      made[0] = Registration.over(line, client, spec, membership, () -> ended(made[0]));
      boolean late;
      synchronized (this) {
        late = closed;
        if (!late) {
          current = made[0];
          pauseNanos = FIRST_PAUSE_NANOS;
        } else {
          retired.add(made[0]);
        }
      }
      if (late) {
        made[0].retire();
      }
    } catch (IOException | RuntimeException e) {
      line.close();
      throw e;
    }
  }

  @Override
  public SessionSpec spec() {
    return spec;
  }

  // ---- queries

  @Override
  public Ticket query(QueryId id, PrefixChain chain) {
    synchronized (numbering) {
      lastOperation = Math.max(lastOperation, id.operation());
      return ask(id, chain);
    }
  }

  @Override
  public Ticket query(PrefixChain chain) {
    synchronized (numbering) {
      return ask(new QueryId(++lastOperation, 0), chain);
    }
  }

  private Ticket ask(QueryId id, PrefixChain chain) {
    Registration registration = current();
    return new ClientTicket(this, registration, id, registration == null ? unavailable() : answer(registration,
        new Request.Query(registration.generation(), id.operation(), id.revision(), chain), true));
  }

  /** Polls a query. */
  Answer poll(Registration registration, QueryId id) {
    return registration != current
        ? unavailable()
        : answer(registration, new Request.Poll(registration.generation(), id.operation(), id.revision()), false);
  }

  /** Drops the interest in a query. */
  void cancel(Registration registration, QueryId id) {
    tell(registration, new Request.Cancel(registration.generation(), id.operation(), id.revision()));
  }

  private Answer answer(Registration registration, Request request, boolean first) {
    try {
      return switch (registration.line().call(request)) {
        case Reply.Answered answered -> answer(registration, answered);
        case Reply.Refused refused when refused.refusal() == Refusal.REFUSED && first -> throw Line.error(refused);
        // Another poll was told the end.
        case Reply.Refused refused when refused.refusal() == Refusal.REFUSED -> new Answer.Cancelled();
        case Reply.Refused refused when refused.refusal() == Refusal.UNAVAILABLE -> new Answer.Busy(refused.message());
        case Reply.Refused _ -> {
          lost(registration);
          yield unavailable();
        }
        case Reply other -> throw registration.line().unexpected(other);
      };
    } catch (IOException e) {
      lost(registration);
      return unavailable();
    }
  }

  private Answer answer(Registration registration, Reply.Answered answered) {
    return switch (answered.standing()) {
      case PENDING -> new Answer.Pending(answered.dramBlocks(), answered.ssdBlocks());
      case HIT -> new Answer.Hit(
          new ClientLease(this, registration, answered.lease(), answered.dramBlocks() + answered.ssdBlocks(),
              answered.bytes()),
          answered.dramBlocks(), answered.ssdBlocks(), MissReason.valueOf(answered.reason()));
      case MISS -> new Answer.Miss(MissReason.valueOf(answered.reason()));
      case BUSY -> new Answer.Busy(answered.bound());
      case EXPIRED -> new Answer.Expired();
      case CANCELLED -> new Answer.Cancelled();
    };
  }

  static Answer unavailable() {
    return new Answer.Miss(MissReason.UNAVAILABLE);
  }

  // ---- transfers

  @Override
  public RestoreGrant restore(Lease lease, int rank) {
    if (!(lease instanceof ClientLease own) || own.session() != this) {
      throw new RefusedException("lease " + lease.id() + " was not made by this session");
    }
    if (own.registration() != current()) {
      throw new RefusedException("lease " + lease.id() + " has ended with the registration that it was granted under");
    }
    return restore(lease.id(), rank);
  }

  @Override
  public RestoreGrant restore(long lease, int rank) {
    Registration registration = current();
    if (registration == null || !registration.hold()) {
      throw new RefusedException("lease " + lease + " has ended: the Manager at " + client.socket() + " is gone");
    }
    boolean granted = false;
    try {
      Reply reply = registration.line().call(new Request.Restore(registration.generation(), lease, rank));
      switch (reply) {
        case Reply.Granted grant -> {
          granted = true;
          return new ClientRestoreGrant(this, registration, grant, spec.layout().shardBytes());
        }
        case Reply.Refused refused -> {
          if (refused.refusal() == Refusal.SUPERSEDED || refused.refusal() == Refusal.CLOSED) {
            lost(registration);
          }
          throw Line.error(refused);
        }
        default -> throw registration.line().unexpected(reply);
      }
    } catch (IOException e) {
      lost(registration);
      throw new RefusedException("lease " + lease + " has ended with the connection to the Manager: " + e.getMessage(),
          e);
    } finally {
      if (!granted) {
        registration.release();
      }
    }
  }

  @Override
  public SaveGrant reserve(int rank, PrefixChain chain, int fromBlock, int toBlock) {
    if (fromBlock < 0 || fromBlock > toBlock || toBlock > chain.blocks()) {
      throw new RefusedException("save of blocks " + fromBlock + " to " + toBlock + " of a " + chain);
    }
    if (rank < 0 || rank >= spec.layout().ranks()) {
      throw new RefusedException("rank " + rank + " of instance '" + spec.instance() + "', expected 0 to "
          + (spec.layout().ranks() - 1));
    }
    Registration registration = current();
    if (registration == null || !registration.hold()) {
      return ClientSaveGrant.unwanted(fromBlock, toBlock);
    }
    boolean granted = false;
    try {
      Reply reply = registration.line()
          .call(new Request.Reserve(registration.generation(), rank, chain, fromBlock, toBlock));
      switch (reply) {
        case Reply.Granted grant when grant.grant() == 0 -> {
          return ClientSaveGrant.nothing(grant, fromBlock);
        }
        case Reply.Granted grant -> {
          granted = true;
          return new ClientSaveGrant(this, registration, grant, fromBlock, spec.layout().shardBytes());
        }
        case Reply.Refused refused when refused.refusal() == Refusal.REFUSED -> throw Line.error(refused);
        case Reply.Refused refused -> {
          if (refused.refusal() != Refusal.UNAVAILABLE) {
            lost(registration);
          }
          return ClientSaveGrant.unwanted(fromBlock, toBlock);
        }
        default -> throw registration.line().unexpected(reply);
      }
    } catch (IOException e) {
      lost(registration);
      return ClientSaveGrant.unwanted(fromBlock, toBlock);
    } finally {
      if (!granted) {
        registration.release();
      }
    }
  }

  @Override
  public Departures departures(long cursor) {
    Registration registration = current();
    Departures none = new Departures(cursor, false, List.of());
    if (registration == null) {
      return none;
    }
    try {
      switch (registration.line().call(new Request.Follow(registration.generation(), cursor))) {
        case Reply.Departed told -> {
          return new Departures(told.cursor(), told.all(),
              IntStream.range(0, told.blocks().blocks()).mapToObj(told.blocks()::hash).toList());
        }
        case Reply.Refused refused when refused.refusal() == Refusal.REFUSED -> throw Line.error(refused);
        case Reply.Refused refused when refused.refusal() == Refusal.UNAVAILABLE -> { }
        case Reply.Refused _ -> lost(registration);
        case Reply other -> throw registration.line().unexpected(other);
      }
    } catch (IOException e) {
      lost(registration);
    }
    return none;
  }

  /** Says something that needs no answer; a Manager that is gone need not hear it. */
  Reply tell(Registration registration, Request request) {
    try {
      return registration.line().call(request);
    } catch (IOException e) {
      lost(registration);
      return new Reply.Refused(Refusal.UNAVAILABLE, e.toString());
    }
  }

  // ---- life

  private Registration current() {
    if (closed) {
      throw new ClosedException("the session of instance '" + spec.instance() + "' is closed");
    }
    return current;
  }

  /** A registration is of no use any more. Grants under it go on until their holders end them. */
  private void lost(Registration registration) {
    synchronized (this) {
      if (current != registration) {
        return;
      }
      current = null;
      retired.add(registration);
      nextTry = System.nanoTime();
    }
    LOG.log(Level.WARNING, "instance ''{0}'' lost its registration with the Manager at {1}; it computes and tries again",
        spec.instance(), client.socket());
    registration.retire();
    client.wake();
  }

  /** Nothing of a registration is in use any more. */
  private void ended(Registration registration) {
    synchronized (this) {
      retired.remove(registration);
      drained.add(registration);
    }
    client.wake();
  }

  /**
   * Looks after the connection: called by the client's thread.
   *
   * @return when to look again, in nanoseconds of {@link System#nanoTime}
   */
  long tend() {
    boolean toSettle = settleLeft();
    Registration registration = current;
    if (registration != null) {
      long idle = registration.line().idleNanos();
      if (idle >= IDLE_NANOS) {
        // A Manager that died is noticed before a request meets it.
        tell(registration, new Request.Stats());
        idle = 0;
      }
      return System.nanoTime() + (toSettle ? FIRST_PAUSE_NANOS : IDLE_NANOS - idle);
    }
    synchronized (this) {
      if (closed || givenUp) {
        return System.nanoTime() + (toSettle ? LONGEST_PAUSE_NANOS : Duration.ofHours(1).toNanos());
      }
      if (nextTry - System.nanoTime() > 0) {
        return nextTry;
      }
    }
    registerAgain();
    return current != null ? System.nanoTime() : nextTry;
  }

  private void registerAgain() {
    try {
      register();
      LOG.log(Level.INFO, "instance ''{0}'' is registered again with the Manager at {1}", spec.instance(),
          client.socket());
    } catch (RefusedException e) {
      LOG.log(Level.ERROR, "instance ''{0}'' is not registered again: {1}", spec.instance(), e.getMessage());
      synchronized (this) {
        givenUp = true;
      }
    } catch (IOException | UnavailableException e) {
      synchronized (this) {
        nextTry = System.nanoTime() + pauseNanos;
        pauseNanos = Math.min(LONGEST_PAUSE_NANOS, 2 * pauseNanos);
      }
    }
  }

  /** Settles what has ended, and returns whether something is left to settle. */
  private boolean settleLeft() {
    List<Registration> ended;
    synchronized (this) {
      ended = List.copyOf(drained);
    }
    for (Registration registration : ended) {
      if (settles(registration) || closed) {
        registration.close();
        synchronized (this) {
          drained.remove(registration);
        }
      }
    }
    synchronized (this) {
      return !drained.isEmpty();
    }
  }

  /**
   * A Manager whose connection broke keeps what it granted in quarantine until it knows better, and this process lives
   * on: so it is told. One that was started since has nothing of it.
   *
   * @return whether there is nothing left to tell
   */
  private boolean settles(Registration registration) {
    if (!registration.line().isBroken()) {
      return true;
    }
    try (Line line = client.connect()) {
      if (line.welcome().incarnation() == registration.manager()) {
        line.call(new Request.Settle(registration.member()));
      }
      return true;
    } catch (IOException | UnavailableException e) {
      return false;
    } catch (RefusedException e) {
      LOG.log(Level.WARNING, "the Manager at {0} is of another release: {1}", client.socket(), e.getMessage());
      return true;
    }
  }

  @Override
  public void close() {
    Registration registration;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      registration = current;
      current = null;
      if (registration != null) {
        retired.add(registration);
      }
    }
    if (registration != null) {
      try {
        registration.line().call(new Request.Leave(registration.generation()));
      } catch (IOException | OrbitKvException e) {
        LOG.log(Level.DEBUG, "instance ''{0}'' left without a word: {1}", spec.instance(), e.getMessage());
      }
      registration.retire();
    }
    client.forget(this);
  }

  /** Returns whether nothing of it is left to look after. */
  synchronized boolean isOver() {
    return closed && retired.isEmpty() && drained.isEmpty();
  }
}
