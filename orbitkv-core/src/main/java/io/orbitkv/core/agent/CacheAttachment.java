package io.orbitkv.core.agent;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.client.Membership;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * One engine's attachment to a cache that may be missing: an engine starts and goes on without one, and has it as soon
 * as it is there.
 *
 * <p>Used by one thread.
 */
public final class CacheAttachment implements AutoCloseable {

  private static final long RETRY_NANOS = Duration.ofSeconds(1).toNanos();

  private final CacheLink link;
  private final SessionSpec spec;
  private final Membership membership;
  private final FaultLog faults;
  private final LongSupplier clock;
  private Session session;
  private boolean tried;
  private long triedNanos;

  /**
   * Attaches to nothing yet.
   *
   * @param link to the cache; it must outlive this
   * @param spec what the instance is
   * @param membership which part of it is attached
   * @param faults where a cache that is missing is told
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public CacheAttachment(
      CacheLink link, SessionSpec spec, Membership membership, FaultLog faults, LongSupplier clock) {
    this.link = link;
    this.spec = spec;
    this.membership = membership;
    this.faults = faults;
    this.clock = clock;
  }

  /**
   * Returns the session, if there is a cache. One that is missing is asked for again each second.
   *
   * @return the session, owned by this
   * @throws io.orbitkv.api.RefusedException if what the engine stated cannot be served
   */
  public Optional<Session> session() {
    if (session == null && (!tried || clock.getAsLong() - triedNanos >= RETRY_NANOS)) {
      tried = true;
      triedNanos = clock.getAsLong();
      try {
        session = link.attach(spec, membership);
      } catch (UnavailableException | ClosedException e) {
        faults.fault("instance '" + spec.instance() + "' has no cache", e);
      }
    }
    return Optional.ofNullable(session);
  }

  /** States that a request to the session failed, and why. */
  void failed(String request, OrbitKvException cause) {
    faults.fault(request + " of instance '" + spec.instance() + "' got no answer from the cache", cause);
  }

  @Override
  public void close() {
    if (session == null) {
      return;
    }
    try {
      session.close();
    } catch (OrbitKvException e) {
      faults.fault("instance '" + spec.instance() + "' was not detached", e);
    }
    session = null;
  }
}
