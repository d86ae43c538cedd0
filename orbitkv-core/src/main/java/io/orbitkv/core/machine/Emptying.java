package io.orbitkv.core.machine;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ExtentState;
import io.orbitkv.core.lifecycle.SegmentState;
import java.lang.foreign.MemorySegment;

/**
 * Makes segments free. Each is emptied as a whole, one that is mostly dead or else the oldest first. Extents that were
 * used since they were written, or that have children elsewhere, are carried over, within a budget of half a segment,
 * so that emptying always gains room; the others are given up with all that depends on them.
 */
final class Emptying {

  private static final int MAX_CARRIES = 8;

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final BlockStore store;
  private final StoreRequests requests;
  private final Segments segments;
  private final Extents extents;
  private final DeviceTrust trust;
  private final Counters counters;
  private Segment victim;
  /** Bytes that may still be carried out of the victim. */
  private long budget;
  private int carries;
  private long carried;

  Emptying(Blocks blocks, MemoryTier memory, BlockStore store, StoreRequests requests, Segments segments,
      Extents extents, DeviceTrust trust, Counters counters) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.store = store;
    this.requests = requests;
    this.segments = segments;
    this.extents = extents;
    this.trust = trust;
    this.counters = counters;
  }

  /** Returns how many extents are being carried over. */
  int carries() {
    return carries;
  }

  /** Returns how many extents were carried over. */
  long carried() {
    return carried;
  }

  /** Begins to empty a segment if there is none to spare. */
  void begin() {
    if (victim != null || segments.hasSpare()) {
      return;
    }
    Segment best = null;
    for (Segment segment : segments.all()) {
      if (segment.state == SegmentState.SEALED && (best == null || isBetterVictim(segment, best))) {
        best = segment;
      }
    }
    if (best != null) {
      best.on(SegmentState.Event.RECLAIM);
      victim = best;
      budget = store.geometry().segmentBytes() / 2;
    }
  }

  /** Mostly dead segments first, the oldest of equals: an old segment has had its chance to be used. */
  private boolean isBetterVictim(Segment segment, Segment than) {
    long quarter = store.geometry().segmentBytes() / 4;
    boolean dead = segment.liveBytes < quarter;
    boolean thanDead = than.liveBytes < quarter;
    return dead != thanDead ? dead : segment.age < than.age;
  }

  /** Decides from the last extent to the first, so that a block knows what became of its children. */
  void carryOver() {
    while (requests.hasWaiting() && (segments.ensureOpen(true) || !segments.canOpen())) {
      StoreRequest.Carry carry = requests.takeWaiting();
      if (!carry.settled && segments.open() == null) {
        counters.faults(Fault.SSD_RECLAIMED, extents.dropTree(carry.row, ExtentState.Event.RECLAIM));
        carry.settled = true;
      }
      if (carry.settled) {
        done(carry);
      } else {
        append(carry);
      }
    }
    while (victim != null && carries < MAX_CARRIES) {
      int row = victim.rows.last();
      if (row == BlockTable.NONE) {
        return;
      }
      Scope scope = blocks.scopeOf(row);
      boolean wanted = table.flag(row, BlockTable.FLAG_USED) || hasChildElsewhere(row);
      if (!wanted || scope.recordBytes() > budget || !segments.canOpen()) {
        counters.faults(Fault.SSD_RECLAIMED, extents.dropTree(row, ExtentState.Event.RECLAIM));
        continue;
      }
      if (requests.hasWaiting() || !segments.ensureOpen(true)) {
        return;
      }
      budget -= scope.recordBytes();
      carry(row, scope);
    }
  }

  private boolean hasChildElsewhere(int row) {
    for (int child = table.firstChild(row); child != BlockTable.NONE; child = table.nextSibling(child)) {
      ExtentState state = table.extent(child);
      if ((state == ExtentState.COMMITTED || state == ExtentState.WRITING)
          && (table.flag(child, BlockTable.FLAG_CARRIED) || segments.at(table.storeAt(child)) != victim)) {
        return true;
      }
    }
    return false;
  }

  private void carry(int row, Scope scope) {
    StoreRequest.Carry carry;
    if (table.isResident(row)) {
      carry = new StoreRequest.Carry(row, victim, StoreRequest.Carry.Source.RESIDENT, table.memoryAt(row));
      memory.hold(row);
    } else {
      long at = memory.allocate(scope);
      if (at == MemoryPool.NONE) {
        counters.faults(Fault.SSD_RECLAIMED, extents.dropTree(row, ExtentState.Event.RECLAIM));
        return;
      }
      carry = new StoreRequest.Carry(row, victim, StoreRequest.Carry.Source.STAGED, at);
    }
    extents.detach(row);
    table.flag(row, BlockTable.FLAG_USED, false);
    carries++;
    if (carry.source == StoreRequest.Carry.Source.RESIDENT) {
      carry.header = extents.header(row);
      append(carry);
    } else {
      victim.inFlight++;
      store.read(victim.index, Place.offset(table.storeAt(row)), extents.expectedHeader(row),
          memory.record(scope, carry.memoryAt), requests.add(carry));
    }
  }

  /** Appends to the open segment, or waits for the next one. */
  private void append(StoreRequest.Carry carry) {
    while (segments.open() != null) {
      Segment to = segments.open();
      int offset = segments.append(carry.header, record(carry), carry);
      if (offset != BlockStore.FULL) {
        carry.to = to;
        carry.offset = offset;
        return;
      }
    }
    requests.await(carry);
  }

  /** The size comes from the header: the row may be another block's by now, if this one was given up. */
  private MemorySegment record(StoreRequest.Carry carry) {
    return memory.pool().slice(carry.memoryAt, store.geometry().recordBytes(carry.header.payloadBytes()));
  }

  void ended(StoreRequest.Carry carry, StoreStatus status) {
    if (carry.to == null) {
      carry.from.inFlight--;
      if (status == StoreStatus.OK && !carry.settled) {
        carry.header = store.header(memory.record(blocks.scopeOf(carry.row), carry.memoryAt));
        append(carry);
        return;
      }
      trust.readEnded(status);
      if (!carry.settled && status != StoreStatus.CLOSED) {
        counters.faults(Fault.SSD_RECLAIMED, extents.dropTree(carry.row, ExtentState.Event.INVALIDATE));
        carry.settled = true;
      }
    } else {
      carry.to.inFlight--;
      if (status != StoreStatus.OK) {
        trust.writeFailed(status);
      } else if (!carry.settled) {
        carried++;
        extents.moved(carry.row, carry.to, carry.offset);
        carry.settled = true;
      }
    }
    done(carry);
  }

  /** Ends a carry. An extent that was neither moved nor given up stays where it is, to be decided again. */
  private void done(StoreRequest.Carry carry) {
    carries--;
    if (!carry.settled) {
      extents.attach(carry.row);
    }
    if (carry.source == StoreRequest.Carry.Source.RESIDENT) {
      memory.release(carry.row);
    } else {
      memory.free(carry.memoryAt);
    }
  }

  /** Nothing is written any more: carries that wait for a segment end. */
  void giveUp() {
    while (requests.hasWaiting()) {
      done(requests.takeWaiting());
    }
  }

  /** Frees the victim if nothing of it is left; returns whether it did. */
  boolean end() {
    if (victim == null || victim.rows.size() > 0 || victim.liveBytes > 0 || victim.inFlight > 0) {
      return false;
    }
    segments.emptied(victim);
    victim = null;
    return true;
  }
}
