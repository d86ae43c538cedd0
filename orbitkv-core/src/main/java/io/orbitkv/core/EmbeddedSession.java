package io.orbitkv.core;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Lease;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.Ticket;
import io.orbitkv.core.machine.CoreSession;
import io.orbitkv.core.machine.CoreTicket;

/** A session's handle in this process. */
final class EmbeddedSession implements Session {

  private final EmbeddedCache cache;
  private final CoreSession session;

  EmbeddedSession(EmbeddedCache cache, CoreSession session) {
    this.cache = cache;
    this.session = session;
  }

  EmbeddedCache cache() {
    return cache;
  }

  @Override
  public SessionSpec spec() {
    return session.spec();
  }

  @Override
  public Ticket query(QueryId id, PrefixChain chain) {
    return cache.turn(() -> ticket(cache.core().query(session, id, chain)));
  }

  @Override
  public Ticket query(PrefixChain chain) {
    return cache.turn(() -> ticket(cache.core().query(session, chain)));
  }

  private Ticket ticket(CoreTicket ticket) {
    Answer answer = answer(ticket);
    return new EmbeddedTicket(this, ticket, answer.isFinal() ? answer : null);
  }

  /** Returns a ticket's answer, and with a hit its lease. In a turn of the core. */
  Answer answer(CoreTicket ticket) {
    return switch (ticket.state()) {
      case READY -> {
        int inMemory = ticket.hitInMemory();
        Lease lease = new EmbeddedLease(cache, cache.core().claim(ticket));
        yield new Answer.Hit(lease, inMemory, lease.blocks() - inMemory, ticket.ending());
      }
      case SUBMITTED, PENDING -> {
        cache.core().polled(ticket);
        yield new Answer.Pending(ticket.hitInMemory(), ticket.missing());
      }
      case DELIVERED -> ticket.isMiss() ? new Answer.Miss(ticket.ending()) : new Answer.Cancelled();
      case BUSY -> new Answer.Busy(ticket.busy());
      case EXPIRED -> new Answer.Expired();
      case CANCELLED -> new Answer.Cancelled();
    };
  }

  @Override
  public RestoreGrant restore(Lease lease, int rank) {
    if (!(lease instanceof EmbeddedLease own) || own.cache() != cache) {
      throw new RefusedException("lease " + lease.id() + " was not made by this cache");
    }
    return cache.turn(() -> new EmbeddedRestoreGrant(
        cache, cache.core().restore(session, own.lease(), rank), session.spec().layout().shardBytes()));
  }

  @Override
  public RestoreGrant restore(long lease, int rank) {
    return cache.turn(() -> new EmbeddedRestoreGrant(
        cache, cache.core().restore(session, lease, rank), session.spec().layout().shardBytes()));
  }

  @Override
  public SaveGrant reserve(int rank, PrefixChain chain, int fromBlock, int toBlock) {
    return cache.turn(() -> new EmbeddedSaveGrant(
        cache, cache.core().reserve(session, rank, chain, fromBlock, toBlock), session.spec().layout().shardBytes()));
  }

  @Override
  public Departures departures(long cursor) {
    return cache.turn(() -> cache.core().departures(session, cursor));
  }

  @Override
  public void close() {
    cache.lastTurn(() -> cache.core().close(session));
  }
}
