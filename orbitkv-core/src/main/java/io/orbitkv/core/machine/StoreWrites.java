package io.orbitkv.core.machine;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.RowList;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ExtentState;

/** What is written to the SSD next, and what is being written. */
final class StoreWrites {

  /** Writes leave the device to reads while there are any: demand before optional work. */
  private static final int MAX_WRITES_BESIDE_READS = 4;

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final Segments segments;
  private final Extents extents;
  private final StoreReads reads;
  private final DeviceTrust trust;
  private final Counters counters;
  private final int maxWrites;
  private final RowList dirty;
  private int underWay;

  StoreWrites(Blocks blocks, MemoryTier memory, Segments segments, Extents extents, StoreReads reads,
      DeviceTrust trust, Counters counters, int maxWrites) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.segments = segments;
    this.extents = extents;
    this.reads = reads;
    this.trust = trust;
    this.counters = counters;
    this.maxWrites = maxWrites;
    this.dirty = new RowList(table);
  }

  int underWay() {
    return underWay;
  }

  /** Returns how many blocks wait for their turn. */
  int waiting() {
    return dirty.size();
  }

  /** Wants a resident row on the SSD. */
  void enqueue(int row) {
    if (trust.takesWrites() && table.extent(row) == ExtentState.ABSENT) {
      table.on(row, ExtentState.Event.ENQUEUE);
      dirty.add(row);
    }
  }

  /** A row left memory: if it was not written by now it never will be. */
  void leftMemory(int row) {
    table.flag(row, BlockTable.FLAG_ANCESTORS_ASKED, false);
    if (table.extent(row) == ExtentState.DIRTY) {
      miss(row);
    }
  }

  /** A dirty row is not wanted on the SSD any more. */
  void forget(int row) {
    dirty.remove(row);
    table.on(row, ExtentState.Event.RECLAIM);
  }

  private void miss(int row) {
    forget(row);
    counters.fault(Fault.SSD_WRITE_MISSED);
  }

  /** Nothing is written any more. */
  void giveUp() {
    for (int row = dirty.first(); row != BlockTable.NONE; row = dirty.first()) {
      miss(row);
    }
  }

  /** Submits as many writes as may be under way. */
  void submit() {
    while (dirty.first() != BlockTable.NONE && underWay < limit() && segments.ensureOpen(false)) {
      writeNext(dirty.first());
    }
  }

  private int limit() {
    return reads.underWay() > 0 ? Math.min(maxWrites, MAX_WRITES_BESIDE_READS) : maxWrites;
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
      miss(row);
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
    Segment segment = segments.open();
    int offset = segments.append(extents.header(row), memory.record(scope, table.memoryAt(row)),
        new StoreRequest.Write(row, segment));
    if (offset == BlockStore.FULL) {
      return;
    }
    dirty.remove(row);
    extents.writing(row, segment, offset);
    memory.hold(row);
    underWay++;
  }

  void ended(StoreRequest.Write write, StoreStatus status) {
    underWay--;
    write.segment.inFlight--;
    int row = write.row;
    if (status == StoreStatus.OK) {
      trust.writeSucceeded();
    }
    if (!write.abandoned) {
      if (status == StoreStatus.OK) {
        extents.written(row);
      } else {
        extents.dropTree(row, ExtentState.Event.FAIL);
      }
    }
    if (status != StoreStatus.OK) {
      trust.writeFailed(status);
    }
    memory.release(row);
  }
}
