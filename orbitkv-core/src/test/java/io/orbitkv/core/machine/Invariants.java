package io.orbitkv.core.machine;

import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.lifecycle.ExtentState;
import io.orbitkv.core.lifecycle.LeaseState;
import io.orbitkv.core.lifecycle.ResidenceState;
import io.orbitkv.core.lifecycle.RestoreState;
import io.orbitkv.core.lifecycle.SaveState;
import io.orbitkv.core.lifecycle.SegmentState;
import io.orbitkv.core.lifecycle.SessionState;
import io.orbitkv.core.lifecycle.TicketState;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** What must be true of a core between any two events, computed anew from its parts. */
public final class Invariants {

  /** An invariant that does not hold. */
  public static final class Violation extends AssertionError {
    private static final long serialVersionUID = 1L;

    /** Says which and how. */
    public Violation(String message) {
      super(message);
    }
  }

  private final CacheCore core;
  private final BlockTable table;
  private final int[] holds;
  private final Map<Integer, Long> carried = new HashMap<>();
  private final Set<Long> extents = new HashSet<>();

  private Invariants(CacheCore core) {
    this.core = core;
    this.table = core.blocks().table();
    this.holds = new int[table.limit()];
  }

  /**
   * Checks all of them.
   *
   * @return the offsets of all extents that somebody owns
   */
  public static Set<Long> check(CacheCore core) {
    Invariants invariants = new Invariants(core);
    invariants.sessions();
    invariants.storeRequests();
    invariants.rows();
    invariants.fillBudgets();
    invariants.segments();
    return invariants.extents;
  }

  /**
   * Checks after a tick that nothing waits past its deadline.
   *
   * @param now the time of the tick
   */
  public static void checkDeadlines(CacheCore core, long now) {
    for (CoreSession session : core.sessions()) {
      for (CoreTicket ticket : session.tickets.values()) {
        require(ticket.deadline - now > 0, "a query waits past its deadline");
      }
      for (CoreLease lease : session.leases.values()) {
        require(lease.state != LeaseState.HELD || lease.deadline - now > 0, "a lease is held past its deadline");
      }
    }
    BlockTable table = core.blocks().table();
    for (int row = 0; row < table.limit(); row++) {
      if (table.exists(row) && table.residence(row) == ResidenceState.FILLING) {
        Arrivals.Fill fill = core.arrivals().fill(row);
        require(fill.writers > 0 || fill.deadline - now > 0, "a block waits for its ranks past its deadline");
      }
    }
  }

  private void sessions() {
    CoreLimits limits = core.limits();
    require(core.sessions().size() <= limits.sessions(), "more sessions than the bound");
    int tickets = 0;
    long charged = 0;
    for (CoreSession session : core.sessions()) {
      long ofSession = 0;
      tickets += session.tickets.size();
      require(session.tickets.size() <= limits.ticketsPerSession(), "more queries of a session than the bound");
      require(session.leases.size() <= limits.leasesPerSession(), "more leases of a session than the bound");
      require(session.saves.size() <= limits.savesPerSession(), "more saves of a session than the bound");
      require(session.budget.used() <= limits.sessionLeaseBytes(), "the budget of a session is exceeded");
      require(session.state != SessionState.CLOSED, "a closed session is kept");
      require(session.state == SessionState.OPEN || !session.isIdle(), "a session that has nothing left is kept");
      for (CoreTicket ticket : session.tickets.values()) {
        require(!ticket.state.isFinal(), "a final ticket is kept");
        if (ticket.state == TicketState.PENDING) {
          ofSession += ticket.charged;
          hold(ticket.row);
          pending(ticket);
        }
      }
      for (CoreLease lease : session.leases.values()) {
        require(lease.state != LeaseState.RETIRED, "a retired lease is kept");
        ofSession += lease.bytes;
        hold(lease.row);
        int row = lease.row;
        for (int block = lease.blocks; block > 0; block--) {
          require(row != BlockTable.NONE && table.exists(row) && table.isResident(row),
              () -> "lease " + lease.id + " holds a block that is not resident");
          row = table.parent(row);
        }
        require(row == BlockTable.NONE, () -> "lease " + lease.id + " does not reach the first block");
      }
      for (CoreRestore restore : session.restores) {
        require(restore.lease.state != LeaseState.RETIRED, "a restore outlives its lease");
        require(restore.state != RestoreState.RETIRED, "a retired restore is kept");
        require(restore.state != RestoreState.QUARANTINED || session.state == SessionState.LOST,
            "a restore of a session that is not lost is quarantined");
      }
      for (CoreSave save : session.saves) {
        require(save.state != SaveState.ENDED, "a save that ended is kept");
        require(save.state != SaveState.QUARANTINED || session.state == SessionState.LOST,
            "a save of a session that is not lost is quarantined");
        for (Arrivals.Fill fill : save.fills) {
          if (fill != null && fill.row == BlockTable.NONE) {
            extents.add(fill.memoryAt);
          }
        }
      }
      long held = ofSession;
      require(held == session.budget.used(), () -> "session is charged " + session.budget.used() + ", holds " + held);
      charged += ofSession;
    }
    require(tickets == core.queries().live(), "live queries are counted wrong");
    require(tickets <= limits.tickets(), "more queries than the bound");
    long total = charged;
    require(total == core.budget().used(), () -> "charged " + core.budget().used() + ", held " + total);
    require(charged <= core.budget().limit(), "the budget is exceeded");
  }

  /** A pending ticket waits for as many blocks as are missing, and each of them is on its way. */
  private void pending(CoreTicket ticket) {
    int missing = 0;
    int row = ticket.row;
    for (int block = ticket.hoped; block > 0; block--) {
      require(row != BlockTable.NONE, "a pending ticket hopes for more blocks than there are");
      ResidenceState residence = table.residence(row);
      require(residence == ResidenceState.RESIDENT || residence == ResidenceState.LOADING
          || residence == ResidenceState.COMPLETE, row, " is waited for and not on its way");
      missing += residence == ResidenceState.RESIDENT ? 0 : 1;
      row = table.parent(row);
    }
    require(row == BlockTable.NONE, "a pending ticket does not reach the first block");
    if (missing == 0 || missing != ticket.missing) {
      throw new Violation("a pending ticket waits for " + ticket.missing + " blocks, and " + missing + " are missing");
    }
  }

  private void storeRequests() {
    int[] writes = {0};
    core.tier().forEachRequest(request -> {
      switch (request) {
        case StoreRequest.Write write -> {
          hold(write.row);
          writes[0]++;
        }
        case StoreRequest.Carry carry -> {
          if (carry.source == StoreRequest.Carry.Source.RESIDENT) {
            hold(carry.row);
          } else {
            require(extents.add(carry.memoryAt), "a staging extent has two owners");
          }
        }
        case StoreRequest.Read read -> {
          if (read.row == BlockTable.NONE) {
            require(extents.add(read.memoryAt), "a detached read's extent has two owners");
          } else {
            require(table.residence(read.row) == ResidenceState.LOADING && table.memoryAt(read.row) == read.memoryAt,
                "a read fills a row that is not loading");
          }
        }
        case StoreRequest.Activate activate -> { }
        case StoreRequest.Seal seal -> { }
      }
    });
    require(writes[0] <= core.limits().writesInFlight(), "more writes than the bound");
  }

  private void rows() {
    int used = 0;
    long resident = 0;
    int fills = 0;
    for (int row = 0; row < table.limit(); row++) {
      if (!table.exists(row)) {
        continue;
      }
      used++;
      ResidenceState residence = table.residence(row);
      ExtentState extent = table.extent(row);
      int parent = table.parent(row);
      require(core.blocks().find(core.blocks().scopeOf(row), table.key(row)) == row, row, " is not found by its name");
      require((table.memoryAt(row) == BlockTable.NOWHERE) == (residence == ResidenceState.ABSENT),
          row, " has memory it should not, or none it should");
      if (residence != ResidenceState.ABSENT) {
        require(extents.add(table.memoryAt(row)), row, " shares its extent");
        require(parent == BlockTable.NONE || table.residence(parent) != ResidenceState.ABSENT,
            row, " is in memory without its parent");
      }
      if (residence == ResidenceState.RESIDENT) {
        resident++;
        require(parent == BlockTable.NONE || table.isResident(parent), row, " is resident without its parent");
      }
      if (residence == ResidenceState.COMPLETE) {
        require(parent != BlockTable.NONE && !table.isResident(parent), row, " was not promoted");
      }
      fills += residence == ResidenceState.FILLING ? 1 : 0;
      if (extent == ExtentState.DIRTY) {
        require(residence == ResidenceState.RESIDENT, row, " waits to be written and is not resident");
      }
      boolean stored = extent == ExtentState.WRITING || extent == ExtentState.COMMITTED;
      require(stored == (table.storeAt(row) != BlockTable.NOWHERE), row, " has a place it should not, or none");
      if (stored && parent != BlockTable.NONE) {
        ExtentState above = table.extent(parent);
        require(above == ExtentState.WRITING || above == ExtentState.COMMITTED, row, " is stored without its parent");
        require(above == ExtentState.COMMITTED || table.isResident(parent), row, " cannot be reached");
      }
      if (table.flag(row, BlockTable.FLAG_CARRIED)) {
        carried.merge((int) (table.storeAt(row) >>> 32), core.blocks().scopeOf(row).recordBytes(), Long::sum);
      }
      int inMemory = 0;
      int inStore = 0;
      for (int child = table.firstChild(row); child != BlockTable.NONE; child = table.nextSibling(child)) {
        require(table.parent(child) == row, row, " has a child that does not know it");
        inMemory += table.residence(child) != ResidenceState.ABSENT ? 1 : 0;
        ExtentState state = table.extent(child);
        inStore += state == ExtentState.WRITING || state == ExtentState.COMMITTED ? 1 : 0;
      }
      require(inMemory == table.memoryChildren(row), row, " counts its children in memory wrong");
      require(inStore == table.storeChildren(row), row, " counts its children on the SSD wrong");
      require(table.holds(row) == holds[row], row, " has not as many holds as holders");
      boolean canLeave = residence == ResidenceState.RESIDENT && table.holds(row) == 0 && inMemory == 0;
      require(canLeave == table.flag(row, BlockTable.FLAG_RELEASED), row,
          " can leave and is not offered, or the reverse");
      require(residence != ResidenceState.ABSENT || extent != ExtentState.ABSENT, row, " holds nothing");
      require(!core.blocks().isDropped(row) || extent == ExtentState.ABSENT && residence == ResidenceState.RESIDENT
          && !canLeave, row, " was dropped and is still there");
    }
    require(used == table.rows(), "rows are counted wrong");
    require(resident == core.memory().resident(), "resident blocks are counted wrong");
    require(fills == core.arrivals().fills(), "fills are counted wrong");
  }

  /** What is being saved is charged to whoever began it, until it is visible or its memory free. */
  private void fillBudgets() {
    Map<Budget, Long> charged = new IdentityHashMap<>();
    int paid = 0;
    for (int row = 0; row < table.limit(); row++) {
      Budget payer = table.exists(row) ? core.arrivals().payer(row) : null;
      if (payer != null) {
        ResidenceState residence = table.residence(row);
        require(residence == ResidenceState.FILLING || residence == ResidenceState.COMPLETE, row, " is paid for as if it "
            + "were being saved");
        charged.merge(payer, core.blocks().scopeOf(row).recordBytes(), Long::sum);
        paid++;
      } else {
        require(!table.exists(row) || table.residence(row) != ResidenceState.FILLING, row, " is filled at nobody's cost");
      }
    }
    require(paid == core.arrivals().paidRows(), "rows that are gone are paid for");
    Set<Arrivals.Fill> outliving = new HashSet<>();
    for (CoreSession session : core.sessions()) {
      for (CoreSave save : session.saves) {
        for (Arrivals.Fill fill : save.fills) {
          if (fill != null && fill.row == BlockTable.NONE && outliving.add(fill)) {
            charged.merge(fill.payer, fill.scope.recordBytes(), Long::sum);
          }
        }
      }
    }
    for (CoreSession session : core.sessions()) {
      long bytes = charged.getOrDefault(session.fillBudget, 0L);
      require(bytes == session.fillBudget.used(),
          () -> "session is charged " + session.fillBudget.used() + " for its saves, and saves " + bytes);
      require(bytes <= Math.max(session.scope.recordBytes(), core.limits().sessionFillBytes()),
          "a session saves more than its budget");
    }
  }

  private void segments() {
    long live = 0;
    int taking = 0;
    int free = 0;
    for (Segment segment : core.tier().segments().all()) {
      taking += segment.state == SegmentState.OPEN || segment.state == SegmentState.ACTIVATING ? 1 : 0;
      free += segment.state == SegmentState.FREE ? 1 : 0;
      long bytes = 0;
      int counted = 0;
      for (int row = segment.rows.first(); row != BlockTable.NONE; row = segment.rows.next(row)) {
        require(table.storeAt(row) >>> 32 == segment.index, row, " is listed in another segment than it is in");
        bytes += core.blocks().scopeOf(row).recordBytes();
        counted++;
      }
      require(counted == segment.rows.size(), () -> "segment " + segment.index + " counts its rows wrong");
      bytes += carried.getOrDefault(segment.index, 0L);
      long held = bytes;
      require(held == segment.liveBytes,
          () -> "segment " + segment.index + " counts " + segment.liveBytes + ", holds " + held);
      int[] flying = {0};
      core.tier().forEachRequest(request -> {
        boolean here = switch (request) {
          case StoreRequest.Read read -> read.segment == segment;
          case StoreRequest.Write write -> write.segment == segment;
          case StoreRequest.Carry carry -> carry.header == null && carry.from == segment || carry.to == segment;
          case StoreRequest.Activate activate -> false;
          case StoreRequest.Seal seal -> false;
        };
        flying[0] += here ? 1 : 0;
      });
      require(flying[0] == segment.inFlight,
          () -> "segment " + segment.index + " counts " + segment.inFlight + " in flight, " + flying[0] + " are");
      if (segment.state == SegmentState.FREE || segment.state == SegmentState.ACTIVATING) {
        require(held == 0 && flying[0] == 0,
            () -> "segment " + segment.index + " is " + segment.state + " and in use");
      }
      live += bytes;
    }
    require(live == core.tier().extents().liveBytes(), "live bytes are counted wrong");
    require(taking <= 2, "more than one segment is activated ahead");
    require(taking < 2 || free > 0, "the last free segment was activated ahead");
  }

  private void hold(int row) {
    require(row != BlockTable.NONE && table.exists(row), "a holder holds nothing");
    holds[row]++;
  }

  private void require(boolean condition, int row, String message) {
    if (!condition) {
      throw new Violation("row " + row + " (" + table.residence(row) + ", " + table.extent(row) + ")" + message);
    }
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new Violation(message);
    }
  }

  /** For messages that cost more than the check. */
  private static void require(boolean condition, Supplier<String> message) {
    if (!condition) {
      throw new Violation(message.get());
    }
  }
}
