package io.orbitkv.core.machine;

import io.orbitkv.api.Digest;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ExtentState;

/**
 * Which block's extent lies where, and what goes with it. An extent is written after its parent's and given up with it:
 * a block whose extent is committed has a parent whose extent is committed, or is being written and therefore resident.
 * So what can be reached is prefix-closed, and stays so over a restart.
 */
final class Extents {

  private final Blocks blocks;
  private final BlockTable table;
  private final Segments segments;
  private final StoreRequests requests;
  private final RowStack stack = new RowStack();
  private long committed;
  private long liveBytes;

  Extents(Blocks blocks, Segments segments, StoreRequests requests) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.segments = segments;
    this.requests = requests;
  }

  /** Returns how many are on the SSD. */
  long committed() {
    return committed;
  }

  /** Returns their bytes, and those of extents that are being written. */
  long liveBytes() {
    return liveBytes;
  }

  // ---- recovery

  /** Takes over an extent that an earlier run left; its row has none. */
  void recovered(int row, int segment, int offset) {
    table.on(row, ExtentState.Event.RECOVER);
    table.flag(row, BlockTable.FLAG_FOUND, true);
    place(row, segments.all()[segment], offset);
    committed++;
  }

  /** Moves a recovered row to the copy in a younger segment. */
  void replaceRecovered(int row, int segment, int offset) {
    displace(row);
    place(row, segments.all()[segment], offset);
  }

  /** Counts a row with an extent among its parent's children. */
  void linked(int row) {
    int parent = table.parent(row);
    if (parent != BlockTable.NONE) {
      table.addStoreChildren(parent, 1);
    }
  }

  // ---- what an extent says about itself

  /** Returns the header of a resident row's extent. */
  ExtentHeader header(int row) {
    Scope scope = blocks.scopeOf(row);
    int[] crcs = table.shardCrcs(row, scope.layout().ranks());
    if (crcs == null) {
      throw new IllegalStateException("row " + row + " is resident without checksums");
    }
    return header(row, scope, crcs);
  }

  /** A reader knows the name and the shape that it wants; the checksums come with the bytes. */
  ExtentHeader expectedHeader(int row) {
    Scope scope = blocks.scopeOf(row);
    return header(row, scope, new int[scope.layout().ranks()]);
  }

  private ExtentHeader header(int row, Scope scope, int[] crcs) {
    int parent = table.parent(row);
    return new ExtentHeader(scope.namespace(), scope.group(), table.key(row),
        parent == BlockTable.NONE ? Digest.ZERO : table.key(parent), table.depth(row), scope.layout().shardBytes(), crcs);
  }

  // ---- coming

  /** A dirty row's extent is being written to a place of its own. */
  void writing(int row, Segment segment, int offset) {
    table.on(row, ExtentState.Event.WRITE);
    linked(row);
    place(row, segment, offset);
  }

  /** A row's extent is on the SSD. */
  void written(int row) {
    table.on(row, ExtentState.Event.COMMIT);
    committed++;
  }

  /** Takes a row from its segment's list while its extent is carried over; its place stays what it was. */
  void detach(int row) {
    segments.at(table.storeAt(row)).rows.remove(row);
    table.flag(row, BlockTable.FLAG_CARRIED, true);
  }

  /** Undoes {@link #detach}: the extent stays where it is. */
  void attach(int row) {
    table.flag(row, BlockTable.FLAG_CARRIED, false);
    segments.at(table.storeAt(row)).rows.add(row);
  }

  /** A detached row's extent was carried over. */
  void moved(int row, Segment to, int offset) {
    table.flag(row, BlockTable.FLAG_CARRIED, false);
    vacate(row);
    place(row, to, offset);
  }

  // ---- going

  /**
   * Gives up a row's extent and those of all its descendants, children first.
   *
   * @param event what happens to the row itself; its descendants are reclaimed
   * @return how many extents were given up
   */
  int dropTree(int root, ExtentState.Event event) {
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
      requests.forEach(request -> {
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

  // ---- places

  private void place(int row, Segment segment, int offset) {
    table.storeAt(row, Place.of(segment.index, offset));
    segment.rows.add(row);
    long bytes = blocks.scopeOf(row).recordBytes();
    segment.liveBytes += bytes;
    liveBytes += bytes;
  }

  private void displace(int row) {
    segments.at(table.storeAt(row)).rows.remove(row);
    vacate(row);
  }

  /** Takes the place from a row that its segment does not list, or no longer. */
  private void vacate(int row) {
    long bytes = blocks.scopeOf(row).recordBytes();
    segments.at(table.storeAt(row)).liveBytes -= bytes;
    liveBytes -= bytes;
    table.storeAt(row, BlockTable.NOWHERE);
  }
}
