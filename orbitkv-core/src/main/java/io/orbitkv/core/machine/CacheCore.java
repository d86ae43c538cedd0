package io.orbitkv.core.machine;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.lifecycle.RestoreState;
import io.orbitkv.core.lifecycle.SaveState;
import io.orbitkv.core.lifecycle.SessionState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;

/**
 * The state of a cache. Every method is an event: it runs to its end without waiting, and the next one begins after it.
 * One thread at a time may call in; which thread does not matter.
 *
 * <p>It decides who may touch which bytes and when, and never touches them itself.
 */
public final class CacheCore implements AutoCloseable {

  private static final IntPredicate EVERY_RANK = rank -> true;

  private final MemoryPool pool;
  private final BlockStore store;
  private final CoreLimits limits;
  private final LongSupplier clock;
  private final Counters counters = new Counters();
  private final Blocks blocks;
  private final MemoryTier memory;
  private final StoreTier tier;
  private final Arrivals arrivals;
  private final Leases leases;
  private final Queries queries;
  private final Saves saves;
  private final Budget total;
  private final Set<CoreSession> sessions = new LinkedHashSet<>();

  /**
   * @param pool memory for blocks; stays the caller's
   * @param order which block leaves memory next; stays the caller's
   * @param store the SSD, not started, or null for a cache without one; stays the caller's
   * @param limits bounds and deadlines
   * @param clock the time in nanoseconds, of any origin
   * @param seed makes the distribution of names in tables unpredictable
   */
  public CacheCore(
      MemoryPool pool, EvictionOrder order, BlockStore store, CoreLimits limits, LongSupplier clock, long seed) {
    this.pool = pool;
    this.store = store;
    this.limits = limits;
    this.clock = clock;
    this.blocks = new Blocks(seed, this::recordBytes);
    this.memory = new MemoryTier(blocks, pool, order, this::evicted);
    this.arrivals = new Arrivals(blocks, memory, counters);
    this.tier = new StoreTier(blocks, memory, store, limits.writesInFlight(), counters, new StoreTier.Listener() {
      @Override
      public void loaded(int row) {
        arrivals.complete(row);
      }

      @Override
      public void loadFailed(int row) {
        arrivals.drop(row);
      }
    });
    arrivals.connect(tier);
    this.total = new Budget(limits.leaseBytes());
    this.leases = new Leases(blocks.table(), memory, total, counters, limits.leaseLife().toNanos(), clock);
    this.queries = new Queries(blocks, memory, tier, arrivals, leases, total, counters, limits);
    this.saves = new Saves(blocks, memory, arrivals, queries, counters, limits);
  }

  private long recordBytes(long payloadBytes) {
    return store != null
        ? store.geometry().recordBytes(payloadBytes)
        : payloadBytes + MemoryPool.ALIGNMENT - 1 & -MemoryPool.ALIGNMENT;
  }

  private void evicted(int row) {
    tier.leftMemory(row);
    if (tier.health() == StoreHealth.OFF) {
      // What it has on the SSD is of no use.
      blocks.left(row);
    }
    blocks.releaseUnused(row);
  }

  // ---- start

  /**
   * Takes over what the store holds from earlier runs. Called once, before the store is started and before any other
   * event.
   *
   * @return what the store found
   */
  public RecoveryReport recover() {
    return new Recovery(blocks, tier.segments(), tier.extents(), counters).run(store);
  }

  /** The store was started. */
  public void storeStarted() {
    tier.started();
    tier.pump();
  }

  // ---- sessions

  /** An engine instance attaches. */
  public CoreSession attach(SessionSpec spec) {
    if (sessions.size() >= limits.sessions()) {
      throw new UnavailableException("instance '" + spec.instance() + "' cannot attach: " + limits.sessions()
          + " are attached; close one");
    }
    ShardLayout layout = spec.layout();
    long record = recordBytes(layout.blockBytes());
    if (record > pool.capacityBytes()) {
      throw new RefusedException("a block of instance '" + spec.instance() + "' takes " + record
          + " bytes, and memory has " + pool.capacityBytes() + "; give the cache more memory");
    }
    if (store != null && layout.blockBytes() > store.geometry().maxPayloadBytes()) {
      throw new RefusedException("a block of instance '" + spec.instance() + "' has " + layout.blockBytes()
          + " bytes, and a segment of the store takes at most " + store.geometry().maxPayloadBytes()
          + "; make the store with larger segments");
    }
    CoreSession session = new CoreSession(spec, blocks.scope(spec.namespace(), 0, layout),
        new Budget(limits.sessionLeaseBytes()), new Budget(limits.sessionFillBytes()), store == null ? 0 : store.geometry().headerBytes());
    sessions.add(session);
    return session;
  }

  /** An engine instance closes: its queries are cancelled and its untaken leases given up. */
  public void close(CoreSession session) {
    if (session.state() != SessionState.OPEN) {
      return;
    }
    dropInterests(session);
    session.on(session.isIdle() ? SessionState.Event.CLOSE_IDLE : SessionState.Event.CLOSE);
    settle(session);
    tier.pump();
  }

  /** An engine instance vanished with all its ranks. */
  public void lose(CoreSession session) {
    lose(session, EVERY_RANK);
  }

  /**
   * Ranks of an engine instance vanished, or its scheduler, which is no rank. The instance is lost as a whole: its
   * queries are cancelled and its untaken leases given up. What the lost ranks were granted may still be in use and is
   * quarantined; the others' grants go on until their holders end them. May come again for further ranks.
   *
   * @param ranks which ranks were lost
   */
  public void lose(CoreSession session, IntPredicate ranks) {
    if (session.state() == SessionState.CLOSED) {
      return;
    }
    if (session.state() != SessionState.LOST) {
      counters.fault(Fault.SESSION_LOST);
    }
    if (session.state() == SessionState.OPEN) {
      dropInterests(session);
    }
    session.on(SessionState.Event.LOSE);
    for (CoreSave save : session.saves) {
      if (ranks.test(save.rank) && !save.isQuarantined()) {
        save.on(SaveState.Event.LOSE);
      }
    }
    for (CoreRestore restore : session.restores) {
      if (ranks.test(restore.rank) && !restore.isQuarantined()) {
        restore.on(RestoreState.Event.LOSE);
      }
    }
    settle(session);
    tier.pump();
  }

  /** The processes of all ranks of a lost instance were seen fully reaped. */
  public void proveGone(CoreSession session) {
    proveGone(session, EVERY_RANK);
  }

  /**
   * The processes of ranks of a lost instance were seen fully reaped: nothing of them can touch memory any more, and
   * what is quarantined for them is free. Nothing happens if the instance has nothing left.
   *
   * @param ranks whose processes; grants of a rank that was not lost stay
   */
  public void proveGone(CoreSession session, IntPredicate ranks) {
    if (session.state() == SessionState.CLOSED) {
      return;
    }
    session.on(SessionState.Event.PROVE_GONE);
    for (CoreSave save : new ArrayList<>(session.saves)) {
      if (save.isQuarantined() && ranks.test(save.rank)) {
        saves.end(save, SaveState.Event.PROVE_GONE, new int[save.blocks()], new boolean[save.blocks()], now());
      }
    }
    for (CoreRestore restore : new ArrayList<>(session.restores)) {
      if (restore.isQuarantined() && ranks.test(restore.rank)) {
        leases.end(restore, RestoreState.Event.PROVE_GONE);
      }
    }
    settle(session);
    tier.pump();
  }

  private void dropInterests(CoreSession session) {
    new ArrayList<>(session.tickets.values()).forEach(queries::cancel);
    new ArrayList<>(session.leases.values()).forEach(leases::close);
  }

  private void settle(CoreSession session) {
    boolean ending = session.state() == SessionState.CLOSING || session.state() == SessionState.LOST;
    if (ending && session.isIdle()) {
      session.on(SessionState.Event.CLOSE_IDLE);
    }
    if (session.state() == SessionState.CLOSED) {
      sessions.remove(session);
      if (sessions.stream().noneMatch(other -> other.scope == session.scope)) {
        blocks.departures().forget(session.scope.number());
      }
    }
  }

  // ---- queries

  /**
   * Asks for the longest stored prefix of a chain, or finds the query asked before under the same id. The chain is not
   * looked at any more when this has returned.
   */
  public CoreTicket query(CoreSession session, QueryId id, PrefixChain chain) {
    requireOpen(session, "query");
    CoreTicket ticket = queries.submit(session, id, chain, now());
    tier.pump();
    return ticket;
  }

  /** Asks under the next unused operation id. */
  public CoreTicket query(CoreSession session, PrefixChain chain) {
    return query(session, new QueryId(session.lastOperation + 1, 0), chain);
  }

  /** Notes that somebody still waits for the answer. */
  public void polled(CoreTicket ticket) {
    queries.polled(ticket, now());
  }

  /** Hands over the lease of a ready ticket. */
  public CoreLease claim(CoreTicket ticket) {
    return queries.claim(ticket);
  }

  /** Drops the interest in a query. */
  public void cancel(CoreTicket ticket) {
    queries.cancel(ticket);
    tier.pump();
  }

  /** Tells which blocks of a session's namespace have left since a cursor. */
  public Departures departures(CoreSession session, long cursor) {
    requireOpen(session, "be told of departures");
    boolean off = tier.health() == StoreHealth.OFF;
    boolean lostStore = off && !session.knowsStoreIsOff;
    session.knowsStoreIsOff = off;
    return blocks.departures().since(session.scope.number(), lostStore ? Departures.NO_CURSOR : cursor);
  }

  // ---- leases and restores

  /** Returns a lease that was handed over to a session and has not ended, by its number. */
  public Optional<CoreLease> lease(CoreSession session, long id) {
    CoreLease lease = session.leases.get(id);
    return lease == null || !lease.handedOver ? Optional.empty() : Optional.of(lease);
  }

  /** Gives up a lease's untaken shares. */
  public void close(CoreLease lease) {
    leases.close(lease);
  }

  /** A rank takes its share of a lease. */
  public CoreRestore restore(CoreSession session, CoreLease lease, int rank) {
    requireOpen(session, "restore");
    requireRank(session, rank);
    return leases.take(session, lease, rank);
  }

  /**
   * A rank takes its share of the lease with a number.
   *
   * @throws RefusedException if there is none, or no longer
   */
  public CoreRestore restore(CoreSession session, long leaseId, int rank) {
    requireOpen(session, "restore");
    CoreLease lease = lease(session, leaseId).orElseThrow(() -> new RefusedException("lease " + leaseId
        + " of instance '" + session.spec().instance() + "' has ended, or there never was one; query again"));
    return restore(session, lease, rank);
  }

  /** A rank submitted all its copies. */
  public void enqueued(CoreRestore restore) {
    leases.enqueued(restore);
  }

  /** A rank's copies are complete. */
  public void drained(CoreRestore restore) {
    leases.end(restore, RestoreState.Event.DRAIN);
    settle(restore.lease.session);
    tier.pump();
  }

  // ---- saves

  /** A rank asks for room to save blocks. */
  public CoreSave reserve(CoreSession session, int rank, PrefixChain chain, int from, int to) {
    requireOpen(session, "save");
    requireRank(session, rank);
    if (from < 0 || from > to || to > chain.blocks()) {
      throw new RefusedException("save of blocks " + from + " to " + to + " of a " + chain);
    }
    CoreSave save = saves.reserve(session, rank, chain, from, to);
    tier.pump();
    return save;
  }

  /**
   * A rank's copies are complete; it commits some of them.
   *
   * @param crcs the checksums of the shards, by position in the grant
   * @param copied which shards were copied, by position in the grant; at most those that are wanted
   * @return how many shards were committed
   * @throws RefusedException if the arrays are not as long as the grant; the save goes on
   */
  public int commit(CoreSave save, int[] crcs, boolean[] copied) {
    if (crcs.length != save.blocks() || copied.length != save.blocks()) {
      throw new RefusedException("commit of " + crcs.length + " checksums and " + copied.length + " marks for a save of "
          + save.blocks() + " blocks; state one of each a block");
    }
    int committed = saves.end(save, SaveState.Event.COMMIT, crcs, copied, now());
    settle(save.session);
    tier.pump();
    return committed;
  }

  /** A rank copies no more and gives up. */
  public void abort(CoreSave save) {
    saves.end(save, SaveState.Event.ABORT, new int[save.blocks()], new boolean[save.blocks()], now());
    settle(save.session);
    tier.pump();
  }

  // ---- an operator's orders

  /**
   * Puts blocks out of memory, in the order in which they would have to leave, until so many bytes are freed or nothing
   * is left that can leave. All of it is one event: whoever wants much freed under load asks for it in parts.
   *
   * @param bytes how many, at least; the last block may free more
   * @return how many bytes were freed
   */
  public long evictMemory(long bytes) {
    long freed = 0;
    while (freed < bytes) {
      long more = memory.evict();
      if (more == 0) {
        break;
      }
      freed += more;
    }
    tier.pump();
    return freed;
  }

  /**
   * Forgets every block of a namespace: from now on its names lead nowhere, and sessions that attach to it begin with
   * nothing. Memory that the SSD is being written from is freed when that has ended. The SSD forgets with its index:
   * what a segment holds of the namespace is found again by a restart that comes before the segment was filled anew.
   *
   * <p>Looks at every row of the table, in one event.
   *
   * @return how many blocks were forgotten
   * @throws RefusedException if an instance of the namespace is attached, or has grants that are not ended
   */
  public long drop(Namespace namespace) {
    for (CoreSession session : sessions) {
      if (session.scope.namespace().equals(namespace)) {
        throw new RefusedException("namespace " + namespace + " is in use by instance '" + session.spec().instance()
            + "', which is " + session.state() + "; drop it when that has closed and ended its grants");
      }
    }
    long dropped = new Purge(blocks, memory, arrivals, tier).run(namespace);
    tier.pump();
    return dropped;
  }

  // ---- the store and the clock

  /** The store ended a request. */
  public void completed(long token, StoreStatus status) {
    tier.completed(token, status);
    tier.pump();
  }

  /** Time has passed. */
  public void tick() {
    long now = now();
    queries.expire(now);
    leases.expire(now);
    arrivals.expireFills(now);
    tier.pump();
  }

  /** Closes the open segment of the store, so that the next start need not scan it. */
  public void sealStore() {
    tier.seal();
    tier.pump();
  }

  /** Returns whether every block that is wanted on the SSD is there or known to have failed. */
  public boolean isWritten() {
    return tier.isWritten();
  }

  /** Returns how many requests the store has not completed. */
  public int storeRequests() {
    return tier.inFlight();
  }

  /** Returns how many grants have holders that may be using memory now. */
  public int grants() {
    return sessions.stream().mapToInt(session -> session.saves.size() + session.restores.size()).sum();
  }

  /** Returns counters and sizes. */
  public CacheStats stats() {
    return new CacheStats(
        counters.queries(), counters.blocksQueried(), counters.blocksHitDram(), counters.blocksHitSsd(),
        counters.blocksMissed(), counters.missed(), counters.blocksSaved(),
        counters.tokensQueried(), counters.tokensHitDram(), counters.tokensHitSsd(), counters.bytesSaved(),
        counters.bytesRestored(), memory.resident(), tier.extents().committed(), pool.allocatedBytes(),
        pool.readyBytes(), tier.extents().liveBytes(), tier.segments().capacityBytes(), total.used(),
        quarantinedBytes(), counters.faults(), tier.health().label());
  }

  private long quarantinedBytes() {
    long bytes = 0;
    for (CoreSession session : sessions) {
      if (session.state() == SessionState.LOST) {
        // Ranks that save the same block share its extent.
        bytes += session.saves.stream().filter(CoreSave::isQuarantined).flatMap(save -> Arrays.stream(save.fills))
            .filter(Objects::nonNull).distinct().count() * session.scope.recordBytes();
        bytes += session.restores.stream().filter(CoreRestore::isQuarantined).map(restore -> restore.lease).distinct()
            .mapToLong(CoreLease::bytes).sum();
      }
    }
    return bytes;
  }

  private long now() {
    return clock.getAsLong();
  }

  private static void requireOpen(CoreSession session, String operation) {
    if (session.state() != SessionState.OPEN) {
      throw new ClosedException("instance '" + session.spec().instance() + "' is " + session.state()
          + " and cannot " + operation);
    }
  }

  private static void requireRank(CoreSession session, int rank) {
    int ranks = session.spec().layout().ranks();
    if (rank < 0 || rank >= ranks) {
      throw new RefusedException("rank " + rank + " of instance '" + session.spec().instance() + "', expected 0 to "
          + (ranks - 1));
    }
  }

  // ---- for the invariants' checker

  CoreLimits limits() {
    return limits;
  }

  Blocks blocks() {
    return blocks;
  }

  MemoryTier memory() {
    return memory;
  }

  StoreTier tier() {
    return tier;
  }

  Arrivals arrivals() {
    return arrivals;
  }

  Budget budget() {
    return total;
  }

  Counters counters() {
    return counters;
  }

  Queries queries() {
    return queries;
  }

  Set<CoreSession> sessions() {
    return sessions;
  }

  /** Gives back the table. The pool, the order and the store stay the caller's. */
  @Override
  public void close() {
    blocks.close();
  }
}
