package io.orbitkv.core.lookup;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Lease;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.Session;
import io.orbitkv.api.Ticket;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A query of a session. The scheduler's thread looks, settles and drops; the cache's thread asks, and tells what it was
 * answered. At most one task of a question is with the cache's thread.
 */
final class SessionQuestion implements Question {

  static final String UNAVAILABLE = reason(MissReason.UNAVAILABLE);

  /** An engine that has nothing to do but to wait asks thousands of times a second. */
  private static final long POLL_NANOS = 1_000_000;

  private final SessionQuestions asker;
  private final PrefixChain chain;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition answered = lock.newCondition();

  // Guarded by the lock.
  private Finding finding = new Finding.Open();
  private boolean underWay;
  private boolean settling;
  private boolean dropped;
  private long answeredAt;

  // Of the cache's thread.
  private Session session;
  private Ticket ticket;
  private Answer.Pending pending = new Answer.Pending(0, 0);

  SessionQuestion(SessionQuestions asker, PrefixChain chain) {
    this.asker = asker;
    this.chain = chain;
  }

  void begin() {
    underWay = true;
    asker.thread().run(this::ask);
  }

  // ---- the scheduler's thread

  @Override
  public Finding look() {
    lock.lock();
    try {
      if (finding instanceof Finding.Open && !underWay
          && (settling || asker.clock().getAsLong() - answeredAt >= POLL_NANOS)) {
        underWay = true;
        asker.thread().run(this::poll);
      }
      if (underWay) {
        await();
      }
      return finding;
    } finally {
      lock.unlock();
    }
  }

  private void await() {
    long left = asker.patience().left();
    try {
      while (underWay && left > 0) {
        left = answered.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      // The connection's thread is to end; what is not answered is open.
      Thread.currentThread().interrupt();
    }
    asker.patience().waited();
  }

  @Override
  public void settle() {
    lock.lock();
    try {
      settling = true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void drop() {
    lock.lock();
    try {
      if (dropped) {
        return;
      }
      dropped = true;
      if (finding instanceof Finding.Held held) {
        held.hold().release();
      } else if (finding instanceof Finding.Open && !underWay) {
        underWay = true;
        asker.thread().run(this::cancel);
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- the cache's thread

  private void ask() {
    Optional<Session> found = asker.session();
    if (found.isEmpty()) {
      tell(new Finding.Nothing(UNAVAILABLE));
      return;
    }
    session = found.get();
    hear(() -> {
      ticket = session.query(chain);
      return ticket.poll();
    });
  }

  private void poll() {
    hear(() -> ticket.poll());
  }

  private void cancel() {
    hear(() -> {
      ticket.cancel();
      return new Answer.Cancelled();
    });
  }

  /** What the session answers to a request; an exception is nothing. */
  private interface Request {
    Answer answer();
  }

  private void hear(Request request) {
    try {
      Answer answer = request.answer();
      if (answer instanceof Answer.Pending now) {
        pending = now;
        if (isUnwanted()) {
          ticket.cancel();
          answer = new Answer.Cancelled();
        } else if (isSettling()) {
          answer = inMemory();
        }
      }
      tell(finding(answer));
    } catch (OrbitKvException e) {
      asker.faults().fault("a query got no answer from the cache", e);
      tell(new Finding.Nothing(UNAVAILABLE));
    } catch (RuntimeException e) {
      tell(new Finding.Nothing(UNAVAILABLE));
      throw e;
    }
  }

  /** Asks again, for the blocks that are in memory. They may have left it since; then there is nothing. */
  private Answer inMemory() {
    if (pending.dramBlocks() == 0) {
      ticket.cancel();
      return new Answer.Expired();
    }
    QueryId last = ticket.id();
    ticket = session.query(new QueryId(last.operation(), last.revision() + 1), chain.first(pending.dramBlocks()));
    Answer answer = ticket.poll();
    if (answer.isFinal()) {
      return answer;
    }
    ticket.cancel();
    return new Answer.Expired();
  }

  private Finding finding(Answer answer) {
    return switch (answer) {
      case Answer.Pending _ -> new Finding.Open();
      case Answer.Hit hit -> new Finding.Held(new HeldLease(hit.lease(), asker));
      case Answer.Miss miss -> new Finding.Nothing(reason(miss.reason()));
      case Answer.Busy _ -> new Finding.Nothing("busy");
      case Answer.Expired _ -> new Finding.Nothing("expired");
      case Answer.Cancelled _ -> new Finding.Nothing("cancelled");
    };
  }

  private static String reason(MissReason reason) {
    return reason.name().toLowerCase(Locale.ROOT);
  }

  private boolean isUnwanted() {
    lock.lock();
    try {
      return dropped;
    } finally {
      lock.unlock();
    }
  }

  private boolean isSettling() {
    lock.lock();
    try {
      return settling;
    } finally {
      lock.unlock();
    }
  }

  private void tell(Finding found) {
    boolean unwanted;
    lock.lock();
    try {
      finding = found;
      underWay = false;
      answeredAt = asker.clock().getAsLong();
      unwanted = dropped;
      if (unwanted && found instanceof Finding.Open) {
        // It was dropped just now.
        underWay = true;
        asker.thread().run(this::cancel);
      }
      answered.signalAll();
    } finally {
      lock.unlock();
    }
    if (unwanted && found instanceof Finding.Held held) {
      held.hold().release();
    }
  }

  /** A lease of the session. */
  private static final class HeldLease implements Hold {

    private final Lease lease;
    private final SessionQuestions asker;
    private boolean released;

    HeldLease(Lease lease, SessionQuestions asker) {
      this.lease = lease;
      this.asker = asker;
    }

    @Override
    public long lease() {
      return lease.id();
    }

    @Override
    public int blocks() {
      return lease.blocks();
    }

    @Override
    public synchronized void release() {
      if (!released) {
        released = true;
        asker.thread().run(this::close);
      }
    }

    private void close() {
      try {
        lease.close();
      } catch (OrbitKvException e) {
        asker.faults().fault("a lease was not given up", e);
      }
    }
  }
}
