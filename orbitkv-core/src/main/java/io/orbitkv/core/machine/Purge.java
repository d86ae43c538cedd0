package io.orbitkv.core.machine;

import io.orbitkv.api.Namespace;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ResidenceState;
import java.util.BitSet;
import java.util.function.IntConsumer;

/**
 * Forgets the blocks of a namespace that no session uses. Their names go at once; what is left without a name is what the
 * SSD is being written from, and its ancestors.
 */
final class Purge {

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final Arrivals arrivals;
  private final StoreTier store;

  Purge(Blocks blocks, MemoryTier memory, Arrivals arrivals, StoreTier store) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.arrivals = arrivals;
    this.store = store;
  }

  /** Returns how many blocks were forgotten. */
  long run(Namespace namespace) {
    BitSet scopes = new BitSet();
    for (Scope scope : blocks.drop(namespace)) {
      scopes.set(scope.number());
    }
    long[] count = {0};
    forEachRow(scopes, row -> count[0]++);
    forEachRow(scopes, store::drop);
    forEachRow(scopes, row -> {
      ResidenceState residence = table.residence(row);
      if (residence != ResidenceState.ABSENT && residence != ResidenceState.RESIDENT) {
        arrivals.drop(row);
      }
    });
    forEachRow(scopes, memory::withdraw);
    return count[0];
  }

  /** Visits the rows of some scopes; those that an earlier visit freed are skipped. */
  private void forEachRow(BitSet scopes, IntConsumer visit) {
    for (int row = 0; row < table.limit(); row++) {
      if (table.exists(row) && scopes.get(table.scope(row))) {
        visit.accept(row);
      }
    }
  }
}
