package io.orbitkv.core.machine;

import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.TicketState;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.IntPredicate;

/** Queries: from a chain to a lease on its longest stored prefix. */
final class Queries {

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final Arrivals arrivals;
  private final Leases leases;
  private final Budget total;
  private final Counters counters;
  private final CoreLimits limits;
  /** Tickets that are not final, over all sessions. */
  private final Set<CoreTicket> live = new LinkedHashSet<>();
  // Made once: a lookup allocates nothing for its probes.
  private final IntPredicate resident;
  private final IntPredicate visible;

  Queries(Blocks blocks, MemoryTier memory, StoreTier store, Arrivals arrivals, Leases leases, Budget total,
      Counters counters, CoreLimits limits) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.arrivals = arrivals;
    this.leases = leases;
    this.total = total;
    this.counters = counters;
    this.limits = limits;
    this.resident = table::isResident;
    this.visible = row -> table.isResident(row) || store.isReadable(row);
  }

  int live() {
    return live.size();
  }

  /** Looks at the chain before it returns and never again. */
  CoreTicket submit(CoreSession session, QueryId id, PrefixChain chain, long now) {
    CoreTicket earlier = session.tickets.get(id.operation());
    if (earlier != null) {
      if (id.revision() == earlier.id.revision()) {
        if (!earlier.isFor(chain)) {
          throw new RefusedException("query " + id + " was asked for another chain, of " + earlier.blocks
              + " blocks, and now for " + chain + "; raise its revision");
        }
        return earlier;
      }
      if (id.revision() < earlier.id.revision()) {
        throw new RefusedException("query " + id + " was replaced by revision " + earlier.id.revision());
      }
      cancel(earlier);
    } else if (id.operation() <= session.lastOperation) {
      throw new RefusedException("query " + id + " comes after operation " + session.lastOperation
          + " and is not live; use a higher operation id");
    }
    session.lastOperation = Math.max(session.lastOperation, id.operation());
    CoreTicket ticket = new CoreTicket(session, id, chain);
    ticket.deadline = now + limits.ticketLife().toNanos();
    if (session.tickets.size() >= limits.ticketsPerSession()) {
      return busy(ticket, limits.ticketsPerSession() + " live queries of one session");
    }
    if (live.size() >= limits.tickets()) {
      return busy(ticket, limits.tickets() + " live queries");
    }
    if (session.leases.size() + session.pendingTickets() >= limits.leasesPerSession()) {
      return busy(ticket, limits.leasesPerSession() + " leases of one session");
    }
    lookUp(ticket, chain);
    return ticket;
  }

  private void lookUp(CoreTicket ticket, PrefixChain chain) {
    CoreSession session = ticket.session;
    Scope scope = session.scope;
    int hit = blocks.longest(scope, chain, chain.blocks(), visible);
    ticket.ending = hit == chain.blocks() ? MissReason.NONE : MissReason.NOT_STORED;
    long affordable = Math.min(session.budget.limit(), total.limit()) / scope.recordBytes();
    if (hit > affordable) {
      hit = (int) affordable;
      ticket.ending = MissReason.OVER_BUDGET;
    }
    if (hit == 0) {
      miss(ticket);
      return;
    }
    long bytes = hit * scope.recordBytes();
    if (!session.budget.fits(bytes) || !total.fits(bytes)) {
      busy(ticket, total.limit() + " bytes of leases, " + session.budget.limit() + " of one session");
      return;
    }
    int deepest = blocks.find(scope, chain, hit - 1);
    if (table.isResident(deepest)) {
      ticket.inMemory = hit;
      ticket.hoped = hit;
      ticket.row = deepest;
      memory.hold(deepest);
    } else {
      startReads(ticket, chain, blocks.longest(scope, chain, hit - 1, resident), hit);
      if (ticket.hoped == 0) {
        miss(ticket);
        return;
      }
    }
    charge(ticket, ticket.hoped * scope.recordBytes());
    session.tickets.put(ticket.id.operation(), ticket);
    live.add(ticket);
    if (ticket.missing == 0) {
      ready(ticket);
    } else {
      ticket.on(TicketState.Event.READS_SUBMITTED);
    }
  }

  private void startReads(CoreTicket ticket, PrefixChain chain, int inMemory, int hit) {
    ticket.inMemory = inMemory;
    ticket.hoped = inMemory;
    ticket.row = inMemory == 0 ? BlockTable.NONE : blocks.find(ticket.session.scope, chain, inMemory - 1);
    if (ticket.row != BlockTable.NONE) {
      memory.hold(ticket.row);
    }
    Wait wait = new Wait(ticket);
    for (int block = inMemory; block < hit; block++) {
      int row = bring(ticket.session.scope, chain, block);
      if (row == BlockTable.NONE) {
        ticket.ending = MissReason.NO_MEMORY;
        return;
      }
      memory.hold(row);
      if (ticket.row != BlockTable.NONE) {
        memory.release(ticket.row);
      }
      ticket.row = row;
      ticket.hoped = block + 1;
      ticket.missing++;
      arrivals.await(row, wait);
    }
  }

  /**
   * Makes sure that a block on the SSD whose parent is in memory, or on its way there, is on its way too.
   *
   * @return its row, or none if there is no room for it or ranks are filling it at present
   */
  private int bring(Scope scope, PrefixChain chain, int block) {
    int row = blocks.find(scope, chain, block);
    return switch (table.residence(row)) {
      case LOADING, COMPLETE -> row;
      case FILLING -> BlockTable.NONE;
      case ABSENT -> {
        long at = memory.allocate(scope);
        if (at == MemoryPool.NONE) {
          yield BlockTable.NONE;
        }
        arrivals.startLoad(row, at);
        yield row;
      }
      case RESIDENT -> throw new IllegalStateException("row " + row + " is resident and its parent is not");
    };
  }

  /**
   * Brings a stored prefix into memory for a save below it, whose blocks could not be seen otherwise.
   *
   * @return the row of its last block, held for the caller, or none if not all of it is stored or fits
   */
  int holdPrefix(Scope scope, PrefixChain chain, int count) {
    int row = blocks.find(scope, chain, count - 1);
    if (row == BlockTable.NONE) {
      return BlockTable.NONE;
    }
    if (table.memoryAt(row) == BlockTable.NOWHERE) {
      if (!visible.test(row)) {
        return BlockTable.NONE;
      }
      int inMemory = blocks.longest(scope, chain, count - 1, ancestor -> table.memoryAt(ancestor) != BlockTable.NOWHERE);
      int held = BlockTable.NONE;
      for (int block = inMemory; block < count; block++) {
        int parent = table.parent(blocks.find(scope, chain, block));
        if (held == BlockTable.NONE && parent != BlockTable.NONE) {
          memory.hold(parent);
          held = parent;
        }
        int brought = bring(scope, chain, block);
        if (brought != BlockTable.NONE) {
          memory.hold(brought);
        }
        if (held != BlockTable.NONE) {
          memory.release(held);
        }
        held = brought;
        if (brought == BlockTable.NONE) {
          return BlockTable.NONE;
        }
      }
      return held;
    }
    memory.hold(row);
    return row;
  }

  /** Hands over the lease of a ready ticket. */
  CoreLease claim(CoreTicket ticket) {
    CoreLease lease = ticket.lease;
    end(ticket, TicketState.Event.CLAIM);
    lease.handedOver = true;
    int inMemory = ticket.hitInMemory();
    answered(ticket, inMemory, lease.blocks - inMemory);
    return lease;
  }

  /** Notes that somebody still waits for the answer. */
  void polled(CoreTicket ticket, long now) {
    ticket.deadline = now + limits.ticketLife().toNanos();
  }

  void cancel(CoreTicket ticket) {
    if (!ticket.state.isFinal()) {
      giveUp(ticket, TicketState.Event.CANCEL);
    }
  }

  void expire(long now) {
    for (CoreTicket ticket : new ArrayList<>(live)) {
      if (ticket.deadline - now <= 0) {
        counters.fault(Fault.QUERY_EXPIRED);
        giveUp(ticket, TicketState.Event.EXPIRE);
      }
    }
  }

  private void giveUp(CoreTicket ticket, TicketState.Event event) {
    CoreLease lease = ticket.lease;
    if (ticket.state == TicketState.PENDING) {
      refund(ticket, ticket.charged);
      memory.release(ticket.row);
    }
    end(ticket, event);
    if (lease != null) {
      leases.close(lease);
    }
  }

  private void ready(CoreTicket ticket) {
    memory.used(ticket.row);
    ticket.lease = leases.create(ticket.session, ticket.row, ticket.hoped, ticket.charged);
    ticket.on(TicketState.Event.RESIDENT);
  }

  /** The last read that a ticket waited for ended. */
  private void readsEnded(CoreTicket ticket) {
    long bytes = ticket.hoped * ticket.session.scope.recordBytes();
    refund(ticket, ticket.charged - bytes);
    ticket.charged = bytes;
    if (ticket.hoped == 0) {
      end(ticket, TicketState.Event.MISS);
      answered(ticket, 0, 0);
    } else {
      ready(ticket);
    }
  }

  private void miss(CoreTicket ticket) {
    ticket.on(TicketState.Event.MISS);
    answered(ticket, 0, 0);
  }

  private void answered(CoreTicket ticket, int inMemory, int fromSsd) {
    counters.answered(ticket.session.spec.blockTokens(), ticket.blocks, inMemory, fromSsd, ticket.ending);
  }

  private CoreTicket busy(CoreTicket ticket, String bound) {
    counters.fault(Fault.QUERY_BUSY);
    ticket.busy = bound;
    ticket.on(TicketState.Event.REFUSE);
    return ticket;
  }

  private void end(CoreTicket ticket, TicketState.Event event) {
    ticket.on(event);
    ticket.session.tickets.remove(ticket.id.operation(), ticket);
    live.remove(ticket);
  }

  private void charge(CoreTicket ticket, long bytes) {
    ticket.charged = bytes;
    ticket.session.budget.charge(bytes);
    total.charge(bytes);
  }

  private void refund(CoreTicket ticket, long bytes) {
    ticket.session.budget.refund(bytes);
    total.refund(bytes);
  }

  /** A ticket's wait for the blocks that it misses. */
  private final class Wait implements Arrivals.Waiter {
    private final CoreTicket ticket;

    Wait(CoreTicket ticket) {
      this.ticket = ticket;
    }

    @Override
    public void arrived() {
      if (ticket.state == TicketState.PENDING && --ticket.missing == 0) {
        readsEnded(ticket);
      }
    }

    @Override
    public void failed(int row) {
      if (ticket.state != TicketState.PENDING) {
        return;
      }
      // Descendants fail first, so this is the deepest block that was left to hope for.
      int parent = table.parent(row);
      if (parent != BlockTable.NONE) {
        memory.hold(parent);
      }
      memory.release(row);
      ticket.row = parent;
      ticket.hoped = table.depth(row);
      ticket.ending = MissReason.FAILED_READ;
      if (--ticket.missing == 0) {
        readsEnded(ticket);
      }
    }
  }
}
