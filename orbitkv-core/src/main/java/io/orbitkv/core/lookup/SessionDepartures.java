package io.orbitkv.core.lookup;

import io.orbitkv.api.Departures;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.Session;
import io.orbitkv.core.agent.FaultLog;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Hears which blocks have left the cache, from the thread that speaks to it. Nobody waits for that: what is returned was
 * asked for earlier.
 */
public final class SessionDepartures implements Supplier<Departures> {

  /** A router is told this much later, and the cache is not asked in every step. */
  static final long PAUSE_NANOS = 100_000_000;

  private final CacheThread thread;
  private final Supplier<Optional<Session>> sessions;
  private final FaultLog faults;
  private final LongSupplier clock;

  // Guarded by this.
  private Departures heard = none();
  private boolean asked;
  private boolean underWay;
  private long askedAt;

  // Of the cache's thread.
  private long cursor = Departures.NO_CURSOR;

  /**
   * Asks nothing yet.
   *
   * @param thread where the cache is asked
   * @param sessions the session, if there is one; called on that thread only
   * @param faults where a cache that fails is told
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public SessionDepartures(
      CacheThread thread, Supplier<Optional<Session>> sessions, FaultLog faults, LongSupplier clock) {
    this.thread = thread;
    this.sessions = sessions;
    this.faults = faults;
    this.clock = clock;
  }

  /** Returns what there is to tell when nothing was heard of. */
  public static Departures none() {
    return new Departures(Departures.NO_CURSOR, false, List.of());
  }

  /** Returns what was heard of since the last call, and asks again if that was done a while ago. */
  @Override
  public synchronized Departures get() {
    Departures news = heard;
    heard = none();
    long now = clock.getAsLong();
    if (!underWay && (!asked || now - askedAt >= PAUSE_NANOS)) {
      asked = true;
      underWay = true;
      askedAt = now;
      thread.run(this::ask);
    }
    return news;
  }

  private void ask() {
    Departures news = none();
    try {
      Optional<Session> session = sessions.get();
      if (session.isPresent()) {
        Departures told = session.get().departures(cursor);
        // Before the first answer nobody was told that anything is there.
        news = cursor == Departures.NO_CURSOR ? new Departures(told.cursor(), false, told.blocks()) : told;
        cursor = told.cursor();
      }
    } catch (OrbitKvException e) {
      faults.fault("the cache did not say which blocks have left", e);
    } finally {
      synchronized (this) {
        heard = news;
        underWay = false;
      }
    }
  }
}
