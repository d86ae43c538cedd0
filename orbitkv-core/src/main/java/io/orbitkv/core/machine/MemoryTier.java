package io.orbitkv.core.machine;

import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ResidenceState;
import java.lang.foreign.MemorySegment;
import java.util.function.IntConsumer;

/**
 * What is in memory. A block with an extent in memory has a parent with an extent in memory, and a resident block has
 * resident ancestors; so a hold on a block keeps its whole prefix.
 */
final class MemoryTier {

  /**
   * How many blocks may leave for one allocation. Blocks of one size make room one for one; more are needed only where
   * sizes are mixed, and a search without end would stop the core.
   */
  private static final int MAX_EVICTIONS = 512;

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryPool pool;
  private final EvictionOrder order;
  private final IntConsumer onEvicted;
  private long resident;

  /**
   * @param onEvicted told of each row that left memory, before its parent can leave
   */
  MemoryTier(Blocks blocks, MemoryPool pool, EvictionOrder order, IntConsumer onEvicted) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.pool = pool;
    this.order = order;
    this.onEvicted = onEvicted;
  }

  long resident() {
    return resident;
  }

  MemoryPool pool() {
    return pool;
  }

  MemorySegment record(Scope scope, long at) {
    return pool.slice(at, scope.recordBytes());
  }

  /** Takes an extent that is free now. */
  long allocateFree(Scope scope) {
    return pool.allocate(scope.recordBytes());
  }

  /** Takes an extent, evicting until one is free. Rows that the caller relies on must be held. */
  long allocate(Scope scope) {
    long at = pool.allocate(scope.recordBytes());
    for (int evicted = 0; at == MemoryPool.NONE && evicted < MAX_EVICTIONS && evict() > 0; evicted++) {
      at = pool.allocate(scope.recordBytes());
    }
    return at;
  }

  /** Returns whether the policy lets a new block in at the price of another. */
  boolean admits(long fingerprint, int parent) {
    return order.admits(fingerprint, parent != BlockTable.NONE && table.isResident(parent) ? parent : EvictionOrder.NONE);
  }

  /**
   * Evicts one block, the order's choice.
   *
   * @return the bytes that it took, or zero if no block can leave
   */
  long evict() {
    int row = order.victim();
    if (row == EvictionOrder.NONE) {
      return 0;
    }
    if (!table.flag(row, BlockTable.FLAG_RELEASED)) {
      throw new IllegalStateException("the policy chose row " + row + ", which cannot leave");
    }
    long bytes = blocks.scopeOf(row).recordBytes();
    putOut(row, true);
    return bytes;
  }

  /** Puts a row out of memory if it can leave, and then its ancestors likewise. */
  void withdraw(int row) {
    int next = row;
    while (next != BlockTable.NONE && table.flag(next, BlockTable.FLAG_RELEASED)) {
      int parent = table.parent(next);
      putOut(next, false);
      next = parent;
    }
  }

  private void putOut(int row, boolean evicted) {
    int parent = table.parent(row);
    table.flag(row, BlockTable.FLAG_RELEASED, false);
    order.removed(row, evicted);
    table.on(row, ResidenceState.Event.EVICT);
    resident--;
    pool.free(leave(row, parent));
    onEvicted.accept(row);
    refresh(parent);
  }

  /** Gives an extent of a row without one, to be written by {@code event}. */
  void enter(int row, long at, ResidenceState.Event event) {
    table.on(row, event);
    table.memoryAt(row, at);
    int parent = table.parent(row);
    if (parent != BlockTable.NONE) {
      table.addMemoryChildren(parent, 1);
      refresh(parent);
    }
  }

  void complete(int row) {
    table.on(row, ResidenceState.Event.COMPLETE);
  }

  /** Makes a complete row resident; its parent is, or it has none. */
  void promote(int row) {
    table.on(row, ResidenceState.Event.PROMOTE);
    table.flag(row, BlockTable.FLAG_FOUND, true);
    resident++;
    int parent = table.parent(row);
    order.inserted(row, parent == BlockTable.NONE ? EvictionOrder.NONE : parent, blocks.fingerprint(row));
    refresh(row);
  }

  /** Takes the extent from a row that is not resident; whoever writes it owns it from now on. */
  long drop(int row) {
    table.on(row, ResidenceState.Event.DROP);
    int parent = table.parent(row);
    long at = leave(row, parent);
    refresh(parent);
    return at;
  }

  void free(long at) {
    pool.free(at);
  }

  /** Keeps a row's bytes, and with them its ancestors', until {@link #release}. */
  void hold(int row) {
    table.addHolds(row, 1);
    refresh(row);
  }

  /** Ends a {@link #hold}. A block that was dropped meanwhile has stayed for its holder alone, and goes. */
  void release(int row) {
    table.addHolds(row, -1);
    refresh(row);
    if (blocks.isDropped(row)) {
      withdraw(row);
    }
  }

  void used(int row) {
    order.used(row);
    table.flag(row, BlockTable.FLAG_USED, true);
  }

  private long leave(int row, int parent) {
    long at = table.memoryAt(row);
    table.memoryAt(row, BlockTable.NOWHERE);
    if (parent != BlockTable.NONE) {
      table.addMemoryChildren(parent, -1);
    }
    return at;
  }

  /** Tells the order when a row begins or ceases to be able to leave. */
  private void refresh(int row) {
    if (row == BlockTable.NONE || !table.isResident(row)) {
      return;
    }
    boolean free = table.holds(row) == 0 && table.memoryChildren(row) == 0;
    if (free != table.flag(row, BlockTable.FLAG_RELEASED)) {
      table.flag(row, BlockTable.FLAG_RELEASED, free);
      if (free) {
        order.released(row);
      } else {
        order.held(row);
      }
    }
  }
}
