package io.orbitkv.core.lookup;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Answer;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.Session;
import io.orbitkv.core.agent.FaultLog;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a cache is asked by a thread that may not wait for it. */
@Timeout(120)
class SessionQuestionsTest {

  private static final PrefixChain CHAIN = PrefixChain.ofTokens(IntStream.range(0, 5).toArray(), 1);

  /** Of a cache that hangs: if each waited as long as one may, they would take 50 s. */
  private static final int LOOKUPS = 10_000;

  private final FaultLog faults = new FaultLog(System.getLogger("test"), System::nanoTime);
  /** Its clock stands still: on a busy machine any task may take as long as one that hangs. */
  private final CacheThread thread = new CacheThread(faults, () -> 0);
  private final ScriptedSession session = new ScriptedSession();
  private final SessionQuestions questions = of(() -> Optional.of(session));

  private SessionQuestions of(Supplier<Optional<Session>> sessions) {
    return new SessionQuestions(thread, sessions, faults, System::nanoTime);
  }

  @AfterEach
  void end() {
    session.permits.release(LOOKUPS);
    thread.close();
  }

  /** Looks until there is an end. */
  private static Finding end(Question question) {
    Finding finding = question.look();
    while (finding instanceof Finding.Open) {
      Thread.onSpinWait();
      finding = question.look();
    }
    return finding;
  }

  /** Lets the cache's thread do what it was given. */
  private void settleThread() throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    thread.run(done::countDown);
    done.await();
  }

  @Test
  void hit_isHeldUntilItIsReleased() throws InterruptedException {
    session.answer = session.hit(7, 3);
    assertThat(end(questions.ask(CHAIN))).isInstanceOfSatisfying(Finding.Held.class, held -> {
      assertThat(held.hold().lease()).isEqualTo(7);
      assertThat(held.hold().blocks()).isEqualTo(3);
      assertThat(session.closedLeases).isEmpty();
      held.hold().release();
      held.hold().release();
    });
    settleThread();
    assertThat(session.closedLeases).containsExactly(7L);
    assertThat(session.calls).containsExactly("query 0/0 of 5");
  }

  @Test
  void everyOtherEnd_isNothingWithItsReason() {
    session.answer = new Answer.Miss(MissReason.FAILED_READ);
    assertThat(end(questions.ask(CHAIN))).isEqualTo(new Finding.Nothing("failed_read"));
    session.answer = new Answer.Busy("1 of 2 ranks registered");
    assertThat(end(questions.ask(CHAIN))).isEqualTo(new Finding.Nothing("busy"));
    session.answer = new Answer.Expired();
    assertThat(end(questions.ask(CHAIN))).isEqualTo(new Finding.Nothing("expired"));
    session.answer = new Answer.Cancelled();
    assertThat(end(questions.ask(CHAIN))).isEqualTo(new Finding.Nothing("cancelled"));
  }

  @Test
  void pendingQuery_isPolledUntilItHasAnEnd() {
    session.answer = new Answer.Pending(1, 4);
    Question question = questions.ask(CHAIN);
    while (session.calls.size() < 3) {
      assertThat(question.look()).isEqualTo(new Finding.Open());
    }
    session.answer = session.hit(7, 5);
    assertThat(end(question)).isInstanceOf(Finding.Held.class);
    assertThat(session.calls).startsWith("query 0/0 of 5", "poll 0/0", "poll 0/0");
  }

  @Test
  void settledQuery_isAskedAgainForWhatIsInMemory() throws InterruptedException {
    session.answer = new Answer.Pending(2, 3);
    session.answers.put("query 0/1 of 2", session.hit(8, 2));
    Question question = questions.ask(CHAIN);
    settleThread();
    assertThat(question.look()).isInstanceOf(Finding.Open.class);
    question.settle();
    assertThat(end(question)).isInstanceOfSatisfying(Finding.Held.class,
        held -> assertThat(held.hold().blocks()).isEqualTo(2));
    assertThat(session.calls).last().isEqualTo("query 0/1 of 2");
  }

  @Test
  void settledQueryWhoseBlocksHaveLeftMemory_isCancelled() {
    session.answer = new Answer.Pending(2, 3);
    Question question = questions.ask(CHAIN);
    question.settle();
    assertThat(end(question)).isEqualTo(new Finding.Nothing("expired"));
    assertThat(session.calls).endsWith("query 0/1 of 2", "cancel 0/1");
  }

  @Test
  void settledQueryWithNothingInMemory_isCancelled() throws InterruptedException {
    session.answer = new Answer.Pending(0, 5);
    Question question = questions.ask(CHAIN);
    settleThread();
    question.settle();
    assertThat(end(question)).isEqualTo(new Finding.Nothing("expired"));
    assertThat(session.calls).last().isEqualTo("cancel 0/0");
  }

  @Test
  void droppedQuery_isCancelled() throws InterruptedException {
    session.answer = new Answer.Pending(0, 5);
    Question question = questions.ask(CHAIN);
    settleThread();
    question.drop();
    question.drop();
    settleThread();
    assertThat(session.calls).containsExactly("query 0/0 of 5", "cancel 0/0");
  }

  @Test
  void questionDroppedWhileItIsAsked_holdsNothing() throws InterruptedException {
    session.permits.drainPermits();
    session.answer = session.hit(7, 3);
    Question question = questions.ask(CHAIN);
    question.drop();
    session.permits.release();
    settleThread();
    settleThread();
    assertThat(session.closedLeases).containsExactly(7L);
  }

  @Test
  void questionDroppedWhileItIsAskedAndThenPending_isCancelled() throws InterruptedException {
    session.permits.drainPermits();
    session.answer = new Answer.Pending(0, 5);
    Question question = questions.ask(CHAIN);
    question.drop();
    session.permits.release(2);
    settleThread();
    settleThread();
    assertThat(session.calls).containsExactly("query 0/0 of 5", "cancel 0/0");
  }

  @Test
  void answerThatNobodyLookedAt_isReleasedWhenItIsDropped() throws InterruptedException {
    session.answer = session.hit(7, 3);
    Question question = questions.ask(CHAIN);
    settleThread();
    question.drop();
    settleThread();
    assertThat(session.closedLeases).containsExactly(7L);
  }

  @Test
  void failures_areNothing_andTheThreadGoesOn() throws InterruptedException {
    session.failure = new ClosedException("the cache is closed");
    assertThat(end(questions.ask(CHAIN))).isEqualTo(new Finding.Nothing("unavailable"));
    session.failure = new IllegalStateException("nobody thought of this");
    assertThat(end(questions.ask(CHAIN))).isEqualTo(new Finding.Nothing("unavailable"));
    session.failure = null;
    session.answer = session.hit(7, 3);
    assertThat(end(questions.ask(CHAIN))).isInstanceOfSatisfying(Finding.Held.class, held -> {
      session.failure = new ClosedException("the cache is closed");
      held.hold().release();
    });
    settleThread();
    session.failure = null;
    assertThat(end(questions.ask(CHAIN))).isInstanceOf(Finding.Held.class);
  }

  @Test
  void cacheThatHangs_costsOneAllowanceAndNoMore() throws InterruptedException {
    settleThread();
    session.permits.drainPermits();
    long begun = System.nanoTime();
    for (int i = 0; i < LOOKUPS; i++) {
      assertThat(questions.ask(CHAIN).look()).isNotInstanceOf(Finding.Held.class);
    }
    assertThat(Duration.ofNanos(System.nanoTime() - begun)).as("of all lookups")
        .isLessThan(Duration.ofNanos(LOOKUPS * Patience.ONCE_NANOS / 2));
  }

  @Test
  void threadThatIsStuck_isAskedNothing() throws InterruptedException {
    AtomicLong now = new AtomicLong();
    try (CacheThread timed = new CacheThread(faults, now::get)) {
      SessionQuestions asking = new SessionQuestions(timed, () -> Optional.of(session), faults, now::get);
      session.permits.drainPermits();
      Question stuck = asking.ask(CHAIN);
      while (session.calls.isEmpty()) {
        Thread.onSpinWait();
      }
      now.addAndGet(SessionQuestions.STALLED_NANOS);
      assertThat(asking.ask(CHAIN).look()).isEqualTo(new Finding.Nothing("unavailable"));
      assertThat(stuck.look()).isInstanceOf(Finding.Open.class);
      session.permits.release(2);
      assertThat(end(stuck)).isEqualTo(new Finding.Nothing("not_stored"));
      CountDownLatch idle = new CountDownLatch(1);
      timed.run(idle::countDown);
      idle.await();
      assertThat(end(asking.ask(CHAIN))).isEqualTo(new Finding.Nothing("not_stored"));
    }
  }

  @Test
  void cacheThatIsNotThere_isLookedForByTheThread_andNobodyWaits() throws InterruptedException {
    AtomicInteger looked = new AtomicInteger();
    SessionQuestions without = of(() -> looked.incrementAndGet() < 4 ? Optional.empty() : Optional.of(session));
    session.answer = session.hit(7, 3);
    assertThat(end(without.ask(CHAIN))).isEqualTo(new Finding.Nothing("unavailable"));
    int asked = 1;
    while (!(end(without.ask(CHAIN)) instanceof Finding.Held)) {
      settleThread();
      asked++;
    }
    assertThat(asked).as("the one before the session is asked none").isEqualTo(4);
  }

  @Test
  void cacheThatRefusesTheInstance_isNothing() {
    SessionQuestions refused = of(() -> {
      throw new RefusedException("another shape");
    });
    assertThat(end(refused.ask(CHAIN))).isEqualTo(new Finding.Nothing("unavailable"));
  }

  @Test
  void interruptedThread_isAnsweredOpen() {
    session.permits.drainPermits();
    Question question = questions.ask(CHAIN);
    Thread.currentThread().interrupt();
    assertThat(question.look()).isInstanceOf(Finding.Open.class);
    assertThat(Thread.interrupted()).isTrue();
  }
}
