package io.orbitkv.core.machine;

import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ResidenceState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Blocks on their way into memory: filled by ranks, or loaded from the SSD. A block that is complete becomes resident
 * once its parent is, and then its complete children do; a block that will never be complete takes its descendants with
 * it.
 *
 * <p>The maps hold an entry a block on its way, not a block at rest: each moves hundreds of kilobytes.
 */
final class Arrivals {

  /** Waits for blocks to become resident. */
  interface Waiter {
    /** A block that it waits for became resident. */
    void arrived();

    /**
     * A block that it waits for will not come, nor will its descendants. Called before the row goes; a hold on it must
     * be moved to an ancestor.
     */
    void failed(int row);
  }

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final Counters counters;
  private final Map<Integer, Fill> fills = new HashMap<>();
  /** Who pays for a row that was filled and is not visible yet. */
  private final Map<Integer, Budget> paying = new HashMap<>();
  private final Map<Integer, List<Waiter>> waiting = new HashMap<>();
  private final RowStack stack = new RowStack();
  private StoreTier store;

  Arrivals(Blocks blocks, MemoryTier memory, Counters counters) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.counters = counters;
  }

  void connect(StoreTier tier) {
    this.store = tier;
  }

  /** Returns the fill of a row whose state is {@link ResidenceState#FILLING}. */
  Fill fill(int row) {
    return fills.get(row);
  }

  int fills() {
    return fills.size();
  }

  /** Returns who pays for a row; null if nobody does. */
  Budget payer(int row) {
    return paying.get(row);
  }

  /** Returns how many rows are paid for. */
  int paidRows() {
    return paying.size();
  }

  /**
   * Begins to fill a row, in an extent taken for it.
   *
   * @param payer charged until the block is visible or its memory free
   */
  Fill startFill(int row, Scope scope, long at, Budget payer) {
    memory.enter(row, at, ResidenceState.Event.GRANT);
    Fill fill = new Fill(row, scope, at, payer);
    fills.put(row, fill);
    paying.put(row, payer);
    payer.charge(scope.recordBytes());
    return fill;
  }

  private void refund(int row) {
    Budget payer = paying.remove(row);
    if (payer != null) {
      payer.refund(blocks.scopeOf(row).recordBytes());
    }
  }

  /** Begins to load a row, in an extent taken for it. */
  void startLoad(int row, long at) {
    memory.enter(row, at, ResidenceState.Event.READ);
    store.read(row);
  }

  void await(int row, Waiter waiter) {
    waiting.computeIfAbsent(row, ignored -> new ArrayList<>(1)).add(waiter);
  }

  /** Ends one rank's writing; the fill has its checksum if it committed. */
  void writerEnded(Fill fill) {
    if (fill.writers > 0) {
      if (fill.isComplete() && fill.row != BlockTable.NONE) {
        throw new IllegalStateException("row " + fill.row + " is complete while a rank writes it");
      }
      return;
    }
    if (fill.row == BlockTable.NONE) {
      memory.free(fill.memoryAt);
      fill.payer.refund(fill.scope.recordBytes());
    } else if (fill.isComplete()) {
      fills.remove(fill.row);
      table.shardCrcs(fill.row, fill.crcs);
      counters.saved();
      complete(fill.row);
    } else if (fill.isEmpty()) {
      drop(fill.row);
    }
  }

  /** Drops the blocks whose ranks did not all commit by their deadline. */
  void expireFills(long now) {
    List<Fill> late = new ArrayList<>();
    for (Fill fill : fills.values()) {
      if (fill.writers == 0 && fill.deadline - now <= 0) {
        late.add(fill);
      }
    }
    counters.faults(Fault.SAVE_INCOMPLETE, late.size());
    for (Fill fill : late) {
      // An ancestor may have taken it along.
      if (fill.row != BlockTable.NONE) {
        drop(fill.row);
      }
    }
  }

  /** The last byte of a row is in memory. */
  void complete(int row) {
    memory.complete(row);
    int parent = table.parent(row);
    if (parent == BlockTable.NONE || table.isResident(parent)) {
      promote(row);
    }
  }

  private void promote(int root) {
    int base = stack.size();
    stack.push(root);
    while (stack.size() > base) {
      int row = stack.pop();
      memory.promote(row);
      refund(row);
      store.enqueue(row);
      notify(row, Waiter::arrived);
      if (table.memoryChildren(row) > 0) {
        for (int child = table.firstChild(row); child != BlockTable.NONE; child = table.nextSibling(child)) {
          if (table.residence(child) == ResidenceState.COMPLETE) {
            stack.push(child);
          }
        }
      }
    }
  }

  /** A row that is on its way will never be complete. Its descendants in memory go first. */
  void drop(int root) {
    int base = stack.size();
    stack.push(root);
    while (stack.size() > base) {
      int row = stack.peek();
      int child = firstChildInMemory(row);
      if (child != BlockTable.NONE) {
        stack.push(child);
        continue;
      }
      stack.pop();
      dropOne(row);
    }
  }

  private int firstChildInMemory(int row) {
    if (table.memoryChildren(row) == 0) {
      return BlockTable.NONE;
    }
    for (int child = table.firstChild(row); child != BlockTable.NONE; child = table.nextSibling(child)) {
      if (table.residence(child) != ResidenceState.ABSENT) {
        return child;
      }
    }
    throw new IllegalStateException("row " + row + " counts children in memory and has none");
  }

  private void dropOne(int row) {
    notify(row, waiter -> waiter.failed(row));
    ResidenceState state = table.residence(row);
    long at = memory.drop(row);
    switch (state) {
      case FILLING -> {
        Fill fill = fills.remove(row);
        fill.row = BlockTable.NONE;
        if (fill.writers == 0) {
          memory.free(at);
          refund(row);
        } else {
          // Paid for by the fill until its last writer has ended.
          paying.remove(row);
        }
      }
      case LOADING -> store.detachRead(row);
      case COMPLETE -> {
        memory.free(at);
        refund(row);
      }
      case ABSENT, RESIDENT -> throw new IllegalStateException("row " + row + " was " + state + " on its way");
    }
    blocks.releaseUnused(row);
  }

  private void notify(int row, Consumer<Waiter> news) {
    List<Waiter> waiters = waiting.remove(row);
    if (waiters != null) {
      waiters.forEach(news);
    }
  }

  /** A block that ranks are filling. It outlives its row while a rank may still write. */
  static final class Fill {
    final Scope scope;
    final long memoryAt;
    final Budget payer;
    final int[] crcs;
    private final boolean[] granted;
    private final boolean[] committed;
    int row;
    int writers;
    long deadline;
    private int commits;

    Fill(int row, Scope scope, long memoryAt, Budget payer) {
      this.row = row;
      this.scope = scope;
      this.memoryAt = memoryAt;
      this.payer = payer;
      int ranks = scope.layout().ranks();
      this.crcs = new int[ranks];
      this.granted = new boolean[ranks];
      this.committed = new boolean[ranks];
    }

    /** Lets a rank write its shard, unless it may already or has. */
    boolean grant(int rank) {
      if (granted[rank]) {
        return false;
      }
      granted[rank] = true;
      writers++;
      return true;
    }

    void commit(int rank, int crc) {
      committed[rank] = true;
      crcs[rank] = crc;
      commits++;
      writers--;
    }

    void abort(int rank) {
      granted[rank] = false;
      writers--;
    }

    boolean isComplete() {
      return commits == crcs.length;
    }

    boolean isEmpty() {
      return commits == 0;
    }
  }
}
