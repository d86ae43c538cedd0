package io.orbitkv.core.machine;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ExtentState;
import java.util.Arrays;

/**
 * Rebuilds the table from what the store hands over. Extents come in any order, so parents are linked at the end; a
 * block whose ancestors are not all there cannot be reached and is given up.
 */
final class Recovery implements RecoverySink {

  private static final int WORDS = 4;

  private final Blocks blocks;
  private final BlockTable table;
  private final Segments segments;
  private final Extents extents;
  private final Counters counters;
  private int segment;
  private long generation;
  private long[] generations = new long[0];
  /** The parents' hashes, four words a row. */
  private long[] parents = new long[1 << 12];

  Recovery(Blocks blocks, Segments segments, Extents extents, Counters counters) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.segments = segments;
    this.extents = extents;
    this.counters = counters;
  }

  RecoveryReport run(BlockStore store) {
    generations = new long[store.geometry().segments()];
    RecoveryReport report = store.recover(this);
    link();
    return report;
  }

  @Override
  public void segment(int index, long age, SegmentState state) {
    segment = index;
    generation = age;
    generations[index] = age;
    if (state != SegmentState.EMPTY) {
      segments.recovered(index, age, state == SegmentState.SEALED);
    }
  }

  @Override
  public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
    Scope scope;
    try {
      scope = blocks.scope(header.namespace(), header.group(), new ShardLayout(shards, header.shardBytes()));
    } catch (RefusedException e) {
      counters.fault(Fault.RECOVERY_LAYOUT);
      return;
    }
    int row = blocks.find(scope, header.key());
    if (row == BlockTable.NONE) {
      row = blocks.create(scope, header.key(), header.depth());
      extents.recovered(row, segment, offset);
    } else if (isOlder(table.storeAt(row), offset)) {
      // Carried over before the older segment was emptied, or written again after its first copy was found damaged.
      extents.replaceRecovered(row, segment, offset);
    }
    remember(row, header.parent());
  }

  /** Returns whether a place was filled before an offset of the segment that is being read. */
  private boolean isOlder(long place, int offset) {
    int at = Place.segment(place);
    return at == segment ? Place.offset(place) < offset : generations[at] < generation;
  }

  private void remember(int row, Digest parent) {
    if ((row + 1) * WORDS > parents.length) {
      parents = Arrays.copyOf(parents, parents.length * 2);
    }
    parents[row * WORDS] = parent.w0();
    parents[row * WORDS + 1] = parent.w1();
    parents[row * WORDS + 2] = parent.w2();
    parents[row * WORDS + 3] = parent.w3();
  }

  private void link() {
    int rows = table.limit();
    RowStack orphans = new RowStack();
    for (int row = 0; row < rows; row++) {
      int depth = table.depth(row);
      if (depth == 0) {
        continue;
      }
      int parent = blocks.find(blocks.scopeOf(row), new Digest(parents[row * WORDS], parents[row * WORDS + 1],
          parents[row * WORDS + 2], parents[row * WORDS + 3]));
      // Depth rises by one from parent to child, so no chain of damaged headers can close into a circle.
      if (parent == BlockTable.NONE || table.depth(parent) != depth - 1) {
        orphans.push(row);
      } else {
        table.link(row, parent);
        extents.linked(row);
      }
    }
    while (orphans.size() > 0) {
      counters.faults(Fault.RECOVERY_ORPHAN, extents.dropTree(orphans.pop(), ExtentState.Event.RECLAIM));
    }
  }
}
