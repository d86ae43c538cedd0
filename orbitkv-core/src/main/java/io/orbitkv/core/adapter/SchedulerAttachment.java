package io.orbitkv.core.adapter;

import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.agent.CacheAttachment;
import io.orbitkv.core.agent.CacheLink;
import io.orbitkv.core.agent.FaultLog;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.lookup.CacheThread;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The scheduler's place in its instance. It outlives the scheduler's connection: a member that leaves ends the
 * instance's generation, and with it what workers have under way.
 *
 * <p>The session belongs to the cache's thread; what is asked of others is thread-safe.
 */
public final class SchedulerAttachment implements AutoCloseable {

  private final SessionSpec spec;
  private final Membership membership;
  private final CacheThread thread;
  private final CacheAttachment attachment;
  private Optional<CompletableFuture<Boolean>> underWay = Optional.empty();

  /**
   * Attaches to nothing yet.
   *
   * @param link to the cache; it must outlive this
   * @param spec what the instance is
   * @param membership the scheduler's in it
   * @param thread where the cache is asked
   * @param faults where a cache that is missing is told
   */
  public SchedulerAttachment(
      CacheLink link, SessionSpec spec, Membership membership, CacheThread thread, FaultLog faults) {
    this.spec = spec;
    this.membership = membership;
    this.thread = thread;
    this.attachment = new CacheAttachment(link, spec, membership, faults, System::nanoTime);
  }

  /** Returns whether it is the place of such a scheduler. */
  public boolean isOf(SessionSpec other, Membership otherMembership) {
    return spec.equals(other) && membership.equals(otherMembership);
  }

  /** Returns the session, if there is a cache. On the cache's thread. */
  public Optional<Session> session() {
    return attachment.session();
  }

  /**
   * Returns whether there is a cache, and waits a while for it. If it takes longer, it goes on, and the next call is
   * told what came of it.
   *
   * @throws io.orbitkv.api.RefusedException if what was stated cannot be served
   */
  public synchronized boolean attach(Duration limit) {
    CompletableFuture<Boolean> attempt = underWay.orElseGet(this::begin);
    underWay = Optional.of(attempt);
    try {
      boolean attached = attempt.get(limit.toNanos(), TimeUnit.NANOSECONDS);
      underWay = Optional.empty();
      return attached;
    } catch (TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (ExecutionException e) {
      underWay = Optional.empty();
      if (e.getCause() instanceof OrbitKvException told) {
        throw told;
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  private CompletableFuture<Boolean> begin() {
    CompletableFuture<Boolean> attempt = new CompletableFuture<>();
    thread.run(() -> {
      try {
        attempt.complete(session().isPresent());
      } catch (RuntimeException e) {
        attempt.completeExceptionally(e);
      }
    });
    return attempt;
  }

  /** Leaves the instance, when the cache's thread comes to it. */
  @Override
  public void close() {
    thread.run(attachment::close);
  }
}
