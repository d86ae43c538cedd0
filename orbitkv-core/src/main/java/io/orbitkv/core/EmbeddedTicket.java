package io.orbitkv.core;

import io.orbitkv.api.Answer;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.Ticket;
import io.orbitkv.core.machine.CoreTicket;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A query's handle in this process. */
final class EmbeddedTicket implements Ticket {

  private final EmbeddedSession session;
  private final CoreTicket ticket;
  /** The answer of a query that was final at once; a resident hit or a miss needs no second turn of the core. */
  private Answer first;

  EmbeddedTicket(EmbeddedSession session, CoreTicket ticket, Answer first) {
    this.session = session;
    this.ticket = ticket;
    this.first = first;
  }

  @Override
  public QueryId id() {
    return ticket.id();
  }

  @Override
  public Answer poll() {
    Answer answer = takeFirst();
    return answer != null ? answer : session.cache().turn(() -> session.answer(ticket));
  }

  @Override
  public Answer await(Duration limit) throws InterruptedException {
    Answer answer = poll();
    if (answer.isFinal()) {
      return answer;
    }
    CountDownLatch answered = new CountDownLatch(1);
    Runnable wake = answered::countDown;
    session.cache().turn(() -> {
      ticket.onAnswered(wake);
      return null;
    });
    try {
      if (answered.await(limit.toNanos(), TimeUnit.NANOSECONDS)) {
        return poll();
      }
      return answer;
    } finally {
      session.cache().lastTurn(() -> ticket.forget(wake));
    }
  }

  @Override
  public void cancel() {
    if (takeFirst() instanceof Answer.Hit hit) {
      hit.lease().close();
      return;
    }
    session.cache().turn(() -> {
      session.cache().core().cancel(ticket);
      return null;
    });
  }

  /** The lease in it may be handed out once. */
  private synchronized Answer takeFirst() {
    Answer answer = first;
    if (answer instanceof Answer.Hit) {
      first = new Answer.Cancelled();
    }
    return answer;
  }
}
