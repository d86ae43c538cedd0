package io.orbitkv.core.machine;

import io.orbitkv.api.Digest;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.RowList;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ExtentState;
import io.orbitkv.core.lifecycle.SegmentState;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.function.Consumer;

/**
 * What is on the SSD: which block lies where, what is written next, and which segment is emptied.
 *
 * <p>An extent is written after its parent's, and goes with it: a block whose extent is committed has a parent whose
 * extent is committed, or is being written and therefore resident. So what can be reached is prefix-closed, and stays so
 * over a restart.
 *
 * <p>Segments are emptied as a whole, the fullest of dead bytes or else the oldest first. Extents that were used since
 * they were written, or that have children elsewhere, are carried over, within a budget of half a segment, so that
 * emptying always gains room; the others are given up with all that depends on them.
 */
final class StoreTier {

  /** What the tier reports to the rest of the core. */
  interface Listener {
    /** A read ended well; the row's bytes in memory are complete. */
    void loaded(int row);

    /** A read failed; the row's extent in memory is still taken. */
    void loadFailed(int row);
  }

  private static final int MAX_CARRIES = 8;
  /** Writes leave the device to reads while there are any: demand before optional work. */
  private static final int MAX_WRITES_BESIDE_READS = 4;
  private static final int WRITE_ERRORS_TO_READ_ONLY = 3;
  private static final int READ_ERRORS_TO_OFF = 8;

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final BlockStore store;
  private final Counters counters;
  private final Listener listener;
  private final int maxWrites;
  private final Segment[] segments;
  private final StoreRequests requests = new StoreRequests();
  private final RowList dirty;
  private final RowStack stack = new RowStack();

  private StoreHealth health;
  private boolean unsubmitted;
  private Segment open;
  private Segment activating;
  private Segment emptying;
  private long carryBudget;
  private int carries;
  private final ArrayDeque<StoreRequest.Carry> homeless = new ArrayDeque<>(MAX_CARRIES);
  private long ages;
  private int free;
  private int writes;
  private int reads;
  private long committed;
  private long carried;
  private long liveBytes;
  private int writeErrors;
  private int readErrors;

  /**
   * @param store the store, or null for a cache without one
   */
  StoreTier(Blocks blocks, MemoryTier memory, BlockStore store, int maxWrites, Counters counters, Listener listener) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.store = store;
    this.maxWrites = maxWrites;
    this.counters = counters;
    this.listener = listener;
    this.dirty = new RowList(table);
    this.health = store == null ? StoreHealth.NONE : StoreHealth.HEALTHY;
    this.segments = new Segment[store == null ? 0 : store.geometry().segments()];
    for (int i = 0; i < segments.length; i++) {
      segments[i] = new Segment(i, new RowList(table));
    }
    this.free = segments.length;
  }

  StoreHealth health() {
    return health;
  }

  long committed() {
    return committed;
  }

  long liveBytes() {
    return liveBytes;
  }

  long capacityBytes() {
    return store == null ? 0 : segments.length * store.geometry().segmentBytes();
  }

  Segment[] segments() {
    return segments;
  }

  /** Returns whether no block waits to be written and no write is under way. */
  boolean isWritten() {
    return dirty.size() == 0 && writes == 0;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("store tier " + health + ", " + free + " free, " + dirty.size() + " dirty, "
        + writes + " writes, " + reads + " reads, " + carries + " carries, " + homeless.size() + " homeless");
    for (Segment segment : segments) {
      text.append(", ").append(segment.state).append(segment == open ? "* " : " ").append(segment.liveBytes);
    }
    return text.toString();
  }

  /** Returns how many extents were carried over to another segment. */
  long carried() {
    return carried;
  }

  /** Visits every request in flight, and the carries that wait for a segment. */
  void forEachRequest(Consumer<StoreRequest> action) {
    requests.forEach(action);
    homeless.forEach(action);
  }

  /** Returns how many requests the store has not completed. */
  int inFlight() {
    return requests.size();
  }

  /** Returns whether a query may count on the row's extent. */
  boolean isReadable(int row) {
    return table.isCommitted(row) && health != StoreHealth.OFF;
  }

  // ---- recovery

  /** Takes over a segment that an earlier run left. */
  void recovered(int index, long age, boolean sealed) {
    Segment segment = segments[index];
    free--;
    segment.age = age;
    ages = Math.max(ages, age);
    segment.on(sealed ? SegmentState.Event.SEALED : SegmentState.Event.SEAL);
  }

  /** Closes the segments that recovery found half filled; the store is in service now. */
  void sealRecovered() {
    for (Segment segment : segments) {
      if (segment.state == SegmentState.SEALING) {
        store.seal(segment.index, submitted(new StoreRequest.Seal(segment)));
      }
    }
  }

  /** Takes over an extent that an earlier run left; its row has none. */
  void recovered(int row, int segment, int offset) {
    table.on(row, ExtentState.Event.RECOVER);
    place(row, segments[segment], offset);
    committed++;
  }

  /** Moves a recovered row to the copy in a younger segment. */
  void replaceRecovered(int row, int segment, int offset) {
    displace(row);
    place(row, segments[segment], offset);
  }

  /** Counts a recovered row among its parent's children. */
  void linked(int row) {
    int parent = table.parent(row);
    if (parent != BlockTable.NONE) {
      table.addStoreChildren(parent, 1);
    }
  }

  /** Gives up a recovered row that was not {@link #linked}, and all that depends on it; returns how many. */
  int dropOrphan(int row) {
    return dropTree(row, ExtentState.Event.RECLAIM);
  }

  // ---- writing

  /** Wants a resident row on the SSD. */
  void enqueue(int row) {
    if (health == StoreHealth.HEALTHY && table.extent(row) == ExtentState.ABSENT) {
      table.on(row, ExtentState.Event.ENQUEUE);
      dirty.add(row);
    }
  }

  /** A row left memory: if it was not written by now it never will be. */
  void leftMemory(int row) {
    table.flag(row, BlockTable.FLAG_ANCESTORS_ASKED, false);
    if (blocks.scopeOf(row).layout().ranks() > 1) {
      table.shardCrcs(row, null);
    }
    if (table.extent(row) == ExtentState.DIRTY) {
      undirty(row);
      counters.fault(Fault.SSD_WRITE_MISSED);
    }
  }

  /** Gives up what a row has on the SSD or wants there, and all that depends on it: its block was dropped. */
  void drop(int row) {
    switch (table.extent(row)) {
      case ABSENT -> { }
      case DIRTY -> undirty(row);
      case WRITING, COMMITTED -> dropTree(row, ExtentState.Event.RECLAIM);
    }
  }

  /** Ends the hold of a transfer; a block that was dropped meanwhile has stayed in memory for it alone. */
  private void release(int row) {
    memory.release(row);
    if (blocks.isDropped(row)) {
      memory.withdraw(row);
    }
  }

  /** Does what can be done now: empties segments, opens them, and submits writes. Called after every event. */
  void pump() {
    if (store == null) {
      return;
    }
    if (health == StoreHealth.HEALTHY) {
      // A segment with nothing to carry over is empty at once, and one may not be enough.
      do {
        chooseVictim();
        carryOver();
      } while (releaseVictim());
      while (dirty.first() != BlockTable.NONE && writes < writeLimit() && ensureOpen(false)) {
        writeNext(dirty.first());
      }
    }
    if (unsubmitted) {
      unsubmitted = false;
      store.submit();
    }
  }

  private long submitted(StoreRequest request) {
    unsubmitted = true;
    return requests.add(request);
  }

  private int writeLimit() {
    return reads > 0 ? Math.min(maxWrites, MAX_WRITES_BESIDE_READS) : maxWrites;
  }

  /**
   * Writes a dirty row, or the ancestor that has to be written before it. Ancestors whose extents were given up while
   * they stayed in memory are written again, but only once for each block: on an SSD that is smaller than memory they
   * might be given up again before the block's turn comes, for ever.
   */
  private void writeNext(int row) {
    int top = row;
    boolean missing = false;
    for (int above = table.parent(row); above != BlockTable.NONE; above = table.parent(above)) {
      ExtentState state = table.extent(above);
      if (state == ExtentState.WRITING || state == ExtentState.COMMITTED) {
        break;
      }
      missing |= state == ExtentState.ABSENT;
      top = above;
    }
    if (missing && table.flag(row, BlockTable.FLAG_ANCESTORS_ASKED)) {
      undirty(row);
      counters.fault(Fault.SSD_WRITE_MISSED);
      return;
    }
    for (int above = row; missing && above != table.parent(top); above = table.parent(above)) {
      table.flag(above, BlockTable.FLAG_ANCESTORS_ASKED, true);
      enqueue(above);
    }
    write(top);
  }

  private void write(int row) {
    Scope scope = blocks.scopeOf(row);
    StoreRequest.Write write = new StoreRequest.Write(row, open);
    long token = submitted(write);
    int offset =
        store.append(open.index, header(row, scope), memory.record(scope, table.memoryAt(row)), token);
    if (offset == BlockStore.FULL) {
      requests.remove(token);
      seal();
      return;
    }
    dirty.remove(row);
    table.on(row, ExtentState.Event.WRITE);
    int parent = table.parent(row);
    if (parent != BlockTable.NONE) {
      table.addStoreChildren(parent, 1);
    }
    place(row, open, offset);
    memory.hold(row);
    open.inFlight++;
    writes++;
  }

  private ExtentHeader header(int row, Scope scope) {
    int[] crcs = table.shardCrcs(row, scope.layout().ranks());
    if (crcs == null) {
      throw new IllegalStateException("row " + row + " is resident without checksums");
    }
    return header(row, scope, crcs);
  }

  /** A reader knows the name and the shape that it wants; the checksums come with the bytes. */
  private ExtentHeader expectedHeader(int row, Scope scope) {
    return header(row, scope, new int[scope.layout().ranks()]);
  }

  private ExtentHeader header(int row, Scope scope, int[] crcs) {
    int parent = table.parent(row);
    return new ExtentHeader(scope.namespace(), scope.group(), table.key(row),
        parent == BlockTable.NONE ? Digest.ZERO : table.key(parent), table.depth(row), scope.layout().shardBytes(), crcs);
  }

  private boolean ensureOpen(boolean forCarrying) {
    if (open != null) {
      return true;
    }
    // The last free segment belongs to carrying over, or extents in use would be given up with the others.
    boolean last = free <= 1 && !forCarrying && hasVictim();
    if (activating == null && free > 0 && !last) {
      for (Segment segment : segments) {
        if (segment.state == SegmentState.FREE) {
          segment.on(SegmentState.Event.ACTIVATE);
          segment.age = ++ages;
          free--;
          activating = segment;
          store.activate(segment.index, submitted(new StoreRequest.Activate(segment)));
          break;
        }
      }
    }
    return false;
  }

  /**
   * Returns whether there is, or will be, an open segment. There is none if a process died while it carried over into
   * the last free segment; then this one is emptied without carrying.
   */
  private boolean canOpen() {
    return open != null || activating != null || free > 0;
  }

  private boolean hasVictim() {
    if (emptying != null) {
      return true;
    }
    for (Segment segment : segments) {
      if (segment.state == SegmentState.SEALED || segment.state == SegmentState.SEALING) {
        return true;
      }
    }
    return false;
  }

  /** Closes the open segment, if any, so that the next start need not scan it. */
  void seal() {
    if (open != null) {
      open.on(SegmentState.Event.SEAL);
      store.seal(open.index, submitted(new StoreRequest.Seal(open)));
      open = null;
    }
  }

  // ---- reading

  /** Reads a committed row's extent into memory that the row was given for it. */
  void read(int row) {
    long place = table.storeAt(row);
    Segment segment = segments[segmentOf(place)];
    StoreRequest.Read read = new StoreRequest.Read(row, segment, place, table.memoryAt(row));
    Scope scope = blocks.scopeOf(row);
    segment.inFlight++;
    reads++;
    store.read(segment.index, offsetOf(place), expectedHeader(row, scope), memory.record(scope, read.memoryAt),
        submitted(read));
  }

  /** Nobody can see the row's block any more: a read under way keeps the extent in memory until it ends. */
  void detachRead(int row) {
    requests.forEach(request -> {
      if (request instanceof StoreRequest.Read read && read.row == row) {
        read.detach();
      }
    });
  }

  // ---- completions

  /** Ends a request. */
  void completed(long token, StoreStatus status) {
    switch (requests.remove(token)) {
      case StoreRequest.Activate activate -> activated(activate.segment(), status);
      case StoreRequest.Seal seal ->
          seal.segment().on(status == StoreStatus.OK ? SegmentState.Event.SEALED : SegmentState.Event.FAIL);
      case StoreRequest.Read read -> readEnded(read, status);
      case StoreRequest.Write write -> writeEnded(write, status);
      case StoreRequest.Carry carry -> carryEnded(carry, status);
    }
  }

  private void activated(Segment segment, StoreStatus status) {
    activating = null;
    if (status == StoreStatus.OK) {
      segment.on(SegmentState.Event.ACTIVATED);
      open = segment;
    } else {
      segment.on(SegmentState.Event.FAIL);
      writeFailed(status);
    }
  }

  private void readEnded(StoreRequest.Read read, StoreStatus status) {
    reads--;
    read.segment.inFlight--;
    int row = read.row;
    if (row == BlockTable.NONE) {
      memory.free(read.memoryAt);
      noteRead(status);
      return;
    }
    if (status == StoreStatus.OK) {
      readErrors = 0;
      Scope scope = blocks.scopeOf(row);
      table.shardCrcs(row, store.header(memory.record(scope, read.memoryAt)).shardCrcs());
      listener.loaded(row);
      return;
    }
    noteRead(status);
    // Before its extent goes: dropping what is in memory must not free the row.
    memory.hold(row);
    if (table.storeAt(row) == read.place && status != StoreStatus.CLOSED) {
      dropTree(row, ExtentState.Event.INVALIDATE);
    }
    listener.loadFailed(row);
    memory.free(read.memoryAt);
    memory.release(row);
    blocks.releaseUnused(row);
  }

  private void noteRead(StoreStatus status) {
    switch (status) {
      case CORRUPT -> counters.fault(Fault.SSD_READ_CORRUPT);
      case MISMATCH -> counters.fault(Fault.SSD_READ_MISMATCH);
      case IO_ERROR, NO_SPACE, READ_ONLY -> {
        counters.fault(Fault.SSD_READ_ERROR);
        if (++readErrors >= READ_ERRORS_TO_OFF) {
          worsen(StoreHealth.OFF);
        }
      }
      case OK, CLOSED -> { }
    }
  }

  private void writeEnded(StoreRequest.Write write, StoreStatus status) {
    writes--;
    write.segment.inFlight--;
    int row = write.row;
    if (status == StoreStatus.OK) {
      writeErrors = 0;
    }
    if (!write.abandoned) {
      if (status == StoreStatus.OK) {
        table.on(row, ExtentState.Event.COMMIT);
        committed++;
      } else {
        dropTree(row, ExtentState.Event.FAIL);
      }
    }
    if (status != StoreStatus.OK) {
      writeFailed(status);
    }
    release(row);
  }

  private void writeFailed(StoreStatus status) {
    if (status == StoreStatus.CLOSED) {
      return;
    }
    counters.fault(Fault.SSD_WRITE_ERROR);
    if (status == StoreStatus.NO_SPACE
        || status == StoreStatus.READ_ONLY
        || ++writeErrors >= WRITE_ERRORS_TO_READ_ONLY) {
      worsen(StoreHealth.READ_ONLY);
    }
  }

  private void worsen(StoreHealth to) {
    if (health.compareTo(to) < 0) {
      health = to;
      for (int row = dirty.first(); row != BlockTable.NONE; row = dirty.first()) {
        undirty(row);
        counters.fault(Fault.SSD_WRITE_MISSED);
      }
      for (StoreRequest.Carry carry = homeless.poll(); carry != null; carry = homeless.poll()) {
        carryDone(carry);
      }
    }
  }

  private void undirty(int row) {
    dirty.remove(row);
    table.on(row, ExtentState.Event.RECLAIM);
  }

  // ---- emptying segments

  private void chooseVictim() {
    if (emptying != null || free > 1 || dirty.size() == 0) {
      return;
    }
    Segment victim = null;
    for (Segment segment : segments) {
      if (segment.state == SegmentState.SEALED && (victim == null || isBetterVictim(segment, victim))) {
        victim = segment;
      }
    }
    if (victim != null) {
      victim.on(SegmentState.Event.RECLAIM);
      emptying = victim;
      carryBudget = store.geometry().segmentBytes() / 2;
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
  private void carryOver() {
    while (!homeless.isEmpty() && (ensureOpen(true) || !canOpen())) {
      StoreRequest.Carry carry = homeless.remove();
      if (!carry.settled && open == null) {
        counters.faults(Fault.SSD_RECLAIMED, dropTree(carry.row, ExtentState.Event.RECLAIM));
        carry.settled = true;
      }
      if (carry.settled) {
        carryDone(carry);
      } else {
        append(carry);
      }
    }
    while (emptying != null && carries < MAX_CARRIES) {
      int row = emptying.rows.last();
      if (row == BlockTable.NONE) {
        return;
      }
      Scope scope = blocks.scopeOf(row);
      boolean wanted = table.flag(row, BlockTable.FLAG_USED) || hasChildElsewhere(row);
      if (!wanted || scope.recordBytes() > carryBudget || !canOpen()) {
        counters.faults(Fault.SSD_RECLAIMED, dropTree(row, ExtentState.Event.RECLAIM));
        continue;
      }
      if (!homeless.isEmpty() || !ensureOpen(true)) {
        return;
      }
      carryBudget -= scope.recordBytes();
      carry(row, scope);
    }
  }

  private boolean hasChildElsewhere(int row) {
    for (int child = table.firstChild(row); child != BlockTable.NONE; child = table.nextSibling(child)) {
      ExtentState state = table.extent(child);
      if ((state == ExtentState.COMMITTED || state == ExtentState.WRITING)
          && (table.flag(child, BlockTable.FLAG_CARRIED) || segmentOf(table.storeAt(child)) != emptying.index)) {
        return true;
      }
    }
    return false;
  }

  private void carry(int row, Scope scope) {
    StoreRequest.Carry carry;
    if (table.isResident(row)) {
      carry = new StoreRequest.Carry(row, emptying, StoreRequest.Carry.Source.RESIDENT, table.memoryAt(row));
      memory.hold(row);
    } else {
      long at = memory.allocate(scope);
      if (at == MemoryPool.NONE) {
        counters.faults(Fault.SSD_RECLAIMED, dropTree(row, ExtentState.Event.RECLAIM));
        return;
      }
      carry = new StoreRequest.Carry(row, emptying, StoreRequest.Carry.Source.STAGED, at);
    }
    emptying.rows.remove(row);
    table.flag(row, BlockTable.FLAG_CARRIED, true);
    table.flag(row, BlockTable.FLAG_USED, false);
    carries++;
    if (carry.source == StoreRequest.Carry.Source.RESIDENT) {
      carry.header = header(row, scope);
      append(carry);
    } else {
      emptying.inFlight++;
      store.read(emptying.index, offsetOf(table.storeAt(row)), expectedHeader(row, scope),
          memory.record(scope, carry.memoryAt), submitted(carry));
    }
  }

  /** Appends to the open segment, or waits for the next one. */
  private void append(StoreRequest.Carry carry) {
    if (open != null) {
      long token = submitted(carry);
      carry.offset = store.append(open.index, carry.header, carriedRecord(carry), token);
      if (carry.offset != BlockStore.FULL) {
        carry.to = open;
        carry.to.inFlight++;
        return;
      }
      requests.remove(token);
      seal();
    }
    homeless.add(carry);
  }

  /** The size comes from the header: the row may be another block's by now, if this one was given up. */
  private MemorySegment carriedRecord(StoreRequest.Carry carry) {
    return memory.pool().slice(carry.memoryAt, store.geometry().recordBytes(carry.header.payloadBytes()));
  }

  private void carryEnded(StoreRequest.Carry carry, StoreStatus status) {
    if (carry.to == null) {
      carry.from.inFlight--;
      if (status == StoreStatus.OK && !carry.settled) {
        carry.header = store.header(memory.record(blocks.scopeOf(carry.row), carry.memoryAt));
        append(carry);
        return;
      }
      noteRead(status);
      if (!carry.settled && status != StoreStatus.CLOSED) {
        counters.faults(Fault.SSD_RECLAIMED, dropTree(carry.row, ExtentState.Event.INVALIDATE));
        carry.settled = true;
      }
    } else {
      carry.to.inFlight--;
      if (status != StoreStatus.OK) {
        writeFailed(status);
      } else if (!carry.settled) {
        move(carry);
        carry.settled = true;
      }
    }
    carryDone(carry);
  }

  private void move(StoreRequest.Carry carry) {
    carried++;
    table.flag(carry.row, BlockTable.FLAG_CARRIED, false);
    long bytes = blocks.scopeOf(carry.row).recordBytes();
    carry.from.liveBytes -= bytes;
    carry.to.liveBytes += bytes;
    carry.to.rows.add(carry.row);
    table.storeAt(carry.row, placeOf(carry.to.index, carry.offset));
  }

  /** Ends a carry. An extent that was neither moved nor given up stays where it is, to be decided again. */
  private void carryDone(StoreRequest.Carry carry) {
    carries--;
    if (!carry.settled) {
      table.flag(carry.row, BlockTable.FLAG_CARRIED, false);
      carry.from.rows.add(carry.row);
    }
    if (carry.source == StoreRequest.Carry.Source.RESIDENT) {
      release(carry.row);
    } else {
      memory.free(carry.memoryAt);
    }
  }

  private boolean releaseVictim() {
    if (emptying == null || emptying.rows.size() > 0 || emptying.liveBytes > 0 || emptying.inFlight > 0) {
      return false;
    }
    emptying.on(SegmentState.Event.EMPTIED);
    emptying = null;
    free++;
    return true;
  }

  // ---- places

  /**
   * Gives up a row's extent and those of all its descendants, children first.
   *
   * @param event what happens to the row itself; its descendants are reclaimed
   * @return how many extents were given up
   */
  private int dropTree(int root, ExtentState.Event event) {
    int dropped = 0;
    int base = stack.size();
    stack.push(root);
    while (stack.size() > base) {
      int row = stack.peek();
      int child = firstStoredChild(row);
      if (child != BlockTable.NONE) {
        stack.push(child);
        continue;
      }
      stack.pop();
      dropOne(row, row == root ? event : ExtentState.Event.RECLAIM);
      dropped++;
      if (row != root) {
        blocks.releaseUnused(row);
      }
    }
    blocks.releaseUnused(root);
    return dropped;
  }

  private int firstStoredChild(int row) {
    if (table.storeChildren(row) == 0) {
      return BlockTable.NONE;
    }
    for (int child = table.firstChild(row); child != BlockTable.NONE; child = table.nextSibling(child)) {
      ExtentState state = table.extent(child);
      if (state == ExtentState.COMMITTED || state == ExtentState.WRITING) {
        return child;
      }
    }
    throw new IllegalStateException("row " + row + " counts children on the SSD and has none");
  }

  private void dropOne(int row, ExtentState.Event event) {
    if (table.extent(row) == ExtentState.COMMITTED) {
      committed--;
    } else {
      requests.forEach(request -> {
        if (request instanceof StoreRequest.Write write && write.row == row) {
          write.abandoned = true;
        }
      });
    }
    table.on(row, event);
    table.flag(row, BlockTable.FLAG_USED, false);
    if (table.flag(row, BlockTable.FLAG_CARRIED)) {
      table.flag(row, BlockTable.FLAG_CARRIED, false);
      forEachRequest(request -> {
        if (request instanceof StoreRequest.Carry carry) {
          settle(carry, row);
        }
      });
      vacate(row);
    } else {
      displace(row);
    }
    int parent = table.parent(row);
    if (parent != BlockTable.NONE) {
      table.addStoreChildren(parent, -1);
    }
  }

  private static void settle(StoreRequest.Carry carry, int row) {
    if (carry.row == row) {
      carry.settled = true;
    }
  }

  private void place(int row, Segment segment, int offset) {
    table.storeAt(row, placeOf(segment.index, offset));
    segment.rows.add(row);
    long bytes = blocks.scopeOf(row).recordBytes();
    segment.liveBytes += bytes;
    liveBytes += bytes;
  }

  private void displace(int row) {
    segments[segmentOf(table.storeAt(row))].rows.remove(row);
    vacate(row);
  }

  /** Takes the place from a row that its segment does not list, or no longer. */
  private void vacate(int row) {
    long bytes = blocks.scopeOf(row).recordBytes();
    segments[segmentOf(table.storeAt(row))].liveBytes -= bytes;
    liveBytes -= bytes;
    table.storeAt(row, BlockTable.NOWHERE);
  }

  private static long placeOf(int segment, int offset) {
    return (long) segment << 32 | offset;
  }

  private static int segmentOf(long place) {
    return (int) (place >>> 32);
  }

  private static int offsetOf(long place) {
    return (int) place;
  }
}
