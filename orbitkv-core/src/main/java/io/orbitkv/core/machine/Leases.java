package io.orbitkv.core.machine;

import io.orbitkv.api.RefusedException;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.LeaseState;
import io.orbitkv.core.lifecycle.RestoreState;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.LongSupplier;

/** Leases and the restores that take shares of them. */
final class Leases {

  private final BlockTable table;
  private final MemoryTier memory;
  private final Budget total;
  private final Counters counters;
  private final long lifeNanos;
  private final LongSupplier clock;
  private final Set<CoreLease> expiring = new LinkedHashSet<>();
  private long lastId;

  Leases(BlockTable table, MemoryTier memory, Budget total, Counters counters, long lifeNanos, LongSupplier clock) {
    this.table = table;
    this.memory = memory;
    this.total = total;
    this.counters = counters;
    this.lifeNanos = lifeNanos;
    this.clock = clock;
  }

  /** Makes a lease of a row that is held for it and bytes that are charged for it. */
  CoreLease create(CoreSession session, int row, int blocks, long bytes) {
    CoreLease lease = new CoreLease(++lastId, session, row, blocks, bytes, clock.getAsLong() + lifeNanos);
    session.leases.put(lease.id, lease);
    expiring.add(lease);
    return lease;
  }

  CoreRestore take(CoreSession session, CoreLease lease, int rank) {
    if (lease.session != session) {
      throw new RefusedException("lease " + lease.id + " belongs to instance '" + lease.session.spec.instance()
          + "', not to '" + session.spec.instance() + "'");
    }
    if (lease.state != LeaseState.HELD) {
      throw new RefusedException("lease " + lease.id + " has ended; query again");
    }
    if (lease.taken.get(rank)) {
      throw new RefusedException("rank " + rank + " has taken its share of lease " + lease.id);
    }
    Scope scope = session.scope;
    long[] shardsAt = new long[lease.blocks];
    long shard = session.payloadAt() + (long) rank * scope.layout().shardBytes();
    int row = lease.row;
    for (int block = lease.blocks - 1; block >= 0; block--) {
      shardsAt[block] = table.memoryAt(row) + shard;
      row = table.parent(row);
    }
    lease.taken.set(rank);
    lease.restores++;
    lease.on(lease.taken.cardinality() == scope.layout().ranks() ? LeaseState.Event.TAKE_LAST : LeaseState.Event.TAKE);
    if (lease.state == LeaseState.DRAINING) {
      expiring.remove(lease);
    }
    CoreRestore restore = new CoreRestore(lease, rank, shardsAt);
    session.restores.add(restore);
    return restore;
  }

  void enqueued(CoreRestore restore) {
    restore.on(RestoreState.Event.ENQUEUE);
  }

  /** Ends a restore: its holder drained it, or is proven gone. */
  void end(CoreRestore restore, RestoreState.Event event) {
    restore.on(event);
    CoreLease lease = restore.lease;
    if (event == RestoreState.Event.DRAIN) {
      counters.shardsRestored(restore.blocks(), lease.session.scope.layout().shardBytes());
    }
    lease.session.restores.remove(restore);
    lease.restores--;
    boolean last = lease.restores == 0 && lease.state == LeaseState.DRAINING;
    lease.on(last ? LeaseState.Event.DRAIN_LAST : LeaseState.Event.DRAIN);
    if (last) {
      retire(lease);
    }
  }

  /** Gives up the untaken shares. */
  void close(CoreLease lease) {
    if (lease.state != LeaseState.HELD) {
      return;
    }
    expiring.remove(lease);
    lease.on(lease.restores == 0 ? LeaseState.Event.CLOSE_IDLE : LeaseState.Event.CLOSE);
    if (lease.state == LeaseState.RETIRED) {
      retire(lease);
    }
  }

  /** Closes the leases whose shares were not all taken in time; they are in the order of their deadlines. */
  void expire(long now) {
    for (CoreLease lease : new ArrayList<>(expiring)) {
      if (lease.deadline - now > 0) {
        return;
      }
      counters.fault(Fault.LEASE_EXPIRED);
      close(lease);
    }
  }

  private void retire(CoreLease lease) {
    lease.session.leases.remove(lease.id);
    lease.session.budget.refund(lease.bytes);
    total.refund(lease.bytes);
    memory.release(lease.row);
  }
}
