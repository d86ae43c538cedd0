package io.orbitkv.core.lookup;

import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.core.agent.FaultLog;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Asks the cache that a session leads to, on the thread that speaks to it. While there is no session, and while that
 * thread is stuck in a call, questions have nothing for an answer.
 */
public final class SessionQuestions implements Questions {

  /** A call that takes longer is one to a Manager that hangs; a healthy one that pauses takes less. */
  static final long STALLED_NANOS = 250_000_000;

  private final CacheThread thread;
  private final Supplier<Optional<Session>> sessions;
  private final FaultLog faults;
  private final LongSupplier clock;
  private final Patience patience;
  /** Whether there was a session when one was last asked for; at first it is worth asking. */
  private volatile boolean attached = true;
  /** Whether one is being asked for. */
  private volatile boolean attaching;

  /**
   * Asks nothing yet.
   *
   * @param thread where the cache is asked
   * @param sessions the session, if there is one; called on that thread only
   * @param faults where a cache that fails is told
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public SessionQuestions(
      CacheThread thread, Supplier<Optional<Session>> sessions, FaultLog faults, LongSupplier clock) {
    this.thread = thread;
    this.sessions = sessions;
    this.faults = faults;
    this.clock = clock;
    this.patience = new Patience(clock);
  }

  @Override
  public Question ask(PrefixChain chain) {
    if (!attached) {
      attachLater();
      return new NoQuestion();
    }
    if (thread.stalledNanos() >= STALLED_NANOS) {
      return new NoQuestion();
    }
    SessionQuestion question = new SessionQuestion(this, chain);
    question.begin();
    return question;
  }

  /** Nobody waits for a cache that is not there. */
  private void attachLater() {
    if (!attaching) {
      attaching = true;
      thread.run(() -> {
        try {
          session();
        } finally {
          attaching = false;
        }
      });
    }
  }

  /** Returns the session, if there is one now. On the cache's thread. */
  public Optional<Session> session() {
    Optional<Session> session = Optional.empty();
    try {
      session = sessions.get();
    } catch (OrbitKvException e) {
      faults.fault("the scheduler is not attached", e);
    }
    attached = session.isPresent();
    return session;
  }

  CacheThread thread() {
    return thread;
  }

  FaultLog faults() {
    return faults;
  }

  LongSupplier clock() {
    return clock;
  }

  Patience patience() {
    return patience;
  }

  /** What is asked of a cache that is not there. */
  private record NoQuestion() implements Question {

    @Override
    public Finding look() {
      return new Finding.Nothing(SessionQuestion.UNAVAILABLE);
    }

    @Override
    public void settle() {}

    @Override
    public void drop() {}
  }
}
