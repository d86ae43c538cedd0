package io.orbitkv.core.lookup;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Digest;
import io.orbitkv.core.agent.FaultLog;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How it is heard that blocks have left, by a thread that may not wait for it. */
@Timeout(30)
class SessionDeparturesTest {

  private static final Digest BLOCK = new Digest(1, 2, 3, 4);

  private final FaultLog faults = new FaultLog(System.getLogger("test"), System::nanoTime);
  private final CacheThread thread = new CacheThread(faults, System::nanoTime);
  private final ScriptedSession session = new ScriptedSession();
  private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 10);
  private final SessionDepartures departures =
      new SessionDepartures(thread, () -> Optional.of(session), faults, now::get);

  @AfterEach
  void end() {
    thread.close();
  }

  private void settleThread() throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    thread.run(done::countDown);
    done.await();
  }

  @Test
  void whatHasLeft_isHeardByTheNextCall_once() throws InterruptedException {
    session.departures = new Departures(7, true, List.of());
    assertThat(departures.get()).isEqualTo(SessionDepartures.none());
    settleThread();
    assertThat(departures.get()).as("nothing was told to be there before")
        .isEqualTo(new Departures(7, false, List.of()));
    assertThat(departures.get()).isEqualTo(SessionDepartures.none());
    settleThread();
    assertThat(session.calls).containsExactly("departures 0");
  }

  @Test
  void cacheIsAskedAgainAfterAWhile_fromWhereItWas() throws InterruptedException {
    session.departures = new Departures(7, true, List.of());
    departures.get();
    settleThread();
    session.departures = new Departures(8, false, List.of(BLOCK));
    now.addAndGet(SessionDepartures.PAUSE_NANOS);
    assertThat(departures.get().blocks()).isEmpty();
    settleThread();
    session.departures = new Departures(9, true, List.of());
    now.addAndGet(SessionDepartures.PAUSE_NANOS);
    assertThat(departures.get()).isEqualTo(new Departures(8, false, List.of(BLOCK)));
    settleThread();
    assertThat(departures.get()).isEqualTo(new Departures(9, true, List.of()));
    assertThat(session.calls).containsExactly("departures 0", "departures 7", "departures 8");
  }

  @Test
  void cacheThatFails_hasSaidNothing() throws InterruptedException {
    session.failure = new ClosedException("closed");
    departures.get();
    settleThread();
    now.addAndGet(SessionDepartures.PAUSE_NANOS);
    assertThat(departures.get()).isEqualTo(SessionDepartures.none());
    settleThread();
    assertThat(session.calls).containsExactly("departures 0", "departures 0");
  }

  @Test
  void withoutASession_nothingIsHeard() throws InterruptedException {
    SessionDepartures none = new SessionDepartures(thread, Optional::empty, faults, now::get);
    none.get();
    settleThread();
    assertThat(none.get()).isEqualTo(SessionDepartures.none());
  }
}
