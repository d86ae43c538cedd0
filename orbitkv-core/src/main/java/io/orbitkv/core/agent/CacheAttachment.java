package io.orbitkv.core.agent;

import io.orbitkv.api.Cache;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * One engine's attachment to a cache that may be missing: an engine starts and goes on without one, and has it as soon as
 * it is there.
 *
 * <p>Used by the connection's thread.
 */
final class CacheAttachment implements AutoCloseable {

  private static final long RETRY_NANOS = Duration.ofSeconds(1).toNanos();

  private final CacheLink link;
  private final SessionSpec spec;
  private final long incarnation;
  private final int rank;
  private final FaultLog faults;
  private final LongSupplier clock;
  private Cache cache;
  private Session session;
  private boolean tried;
  private long triedNanos;

  CacheAttachment(
      CacheLink link, SessionSpec spec, long incarnation, int rank, FaultLog faults, LongSupplier clock) {
    this.link = link;
    this.spec = spec;
    this.incarnation = incarnation;
    this.rank = rank;
    this.faults = faults;
    this.clock = clock;
  }

  /**
   * Returns the session, if there is a cache. One that is missing is asked for again each second.
   *
   * @throws io.orbitkv.api.RefusedException if what the engine stated cannot be served; it never will
   */
  Optional<Session> session() {
    if (session == null && (!tried || clock.getAsLong() - triedNanos >= RETRY_NANOS)) {
      tried = true;
      triedNanos = clock.getAsLong();
      attach();
    }
    return Optional.ofNullable(session);
  }

  private void attach() {
    Cache connected = null;
    try {
      connected = link.connect(incarnation, rank, spec.layout().ranks());
      session = connected.attach(spec);
      cache = connected;
    } catch (OrbitKvException e) {
      if (connected != null) {
        link.disconnect(connected);
      }
      if (e instanceof RefusedException) {
        throw e;
      }
      faults.fault("instance '" + spec.instance() + "' has no cache", e);
    }
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
    } finally {
      link.disconnect(cache);
      session = null;
      cache = null;
    }
  }
}
