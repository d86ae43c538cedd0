package io.orbitkv.core.client;

import io.orbitkv.api.Answer;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.Ticket;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A query that a Manager answers. */
final class ClientTicket implements Ticket {

  private static final long FIRST_PAUSE_NANOS = Duration.ofNanos(50_000).toNanos();
  private static final long LONGEST_PAUSE_NANOS = Duration.ofMillis(2).toNanos();

  private final ClientSession session;
  private final Registration registration;
  private final QueryId id;
  /** The last answer; a hit that nobody has fetched yet is in it. */
  private Answer answer;
  private boolean fetched;

  ClientTicket(ClientSession session, Registration registration, QueryId id, Answer answer) {
    this.session = session;
    this.registration = registration;
    this.id = id;
    this.answer = answer;
  }

  @Override
  public QueryId id() {
    return id;
  }

  @Override
  public synchronized Answer poll() {
    if (!answer.isFinal() && fetched) {
      answer = session.poll(registration, id);
    }
    fetched = true;
    return take();
  }

  /** The lease in it may be handed out once. */
  private Answer take() {
    Answer taken = answer;
    if (taken instanceof Answer.Hit) {
      answer = new Answer.Cancelled();
    }
    return taken;
  }

  @Override
  public Answer await(Duration limit) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    long pause = FIRST_PAUSE_NANOS;
    while (true) {
      Answer now = poll();
      long left = deadline - System.nanoTime();
      if (now.isFinal() || left <= 0) {
        return now;
      }
      LockSupport.parkNanos(this, Math.min(pause, left));
      if (Thread.interrupted()) {
        throw new InterruptedException("interrupted while query " + id + " was pending");
      }
      pause = Math.min(LONGEST_PAUSE_NANOS, 2 * pause);
    }
  }

  @Override
  public synchronized void cancel() {
    if (take() instanceof Answer.Hit hit) {
      hit.lease().close();
    } else if (!answer.isFinal()) {
      session.cancel(registration, id);
      answer = new Answer.Cancelled();
    }
  }
}
