package io.orbitkv.core.machine;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.SaveState;

/** Saves: from a request for room to blocks on their way. */
final class Saves {

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final Arrivals arrivals;
  private final Queries queries;
  private final Counters counters;
  private final CoreLimits limits;

  Saves(Blocks blocks, MemoryTier memory, Arrivals arrivals, Queries queries, Counters counters, CoreLimits limits) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.arrivals = arrivals;
    this.queries = queries;
    this.counters = counters;
    this.limits = limits;
  }

  CoreSave reserve(CoreSession session, int rank, PrefixChain chain, int from, int to) {
    Arrivals.Fill[] fills = new Arrivals.Fill[to - from];
    boolean[] stored = new boolean[to - from];
    if (session.saves.size() < limits.savesPerSession()) {
      grant(session, rank, chain, from, fills, stored);
    } else {
      counters.faults(Fault.SAVE_BUSY, fills.length);
    }
    CoreSave save = new CoreSave(session, rank, from, fills, stored);
    if (save.wanted() > 0) {
      session.saves.add(save);
    }
    return save;
  }

  private void grant(
      CoreSession session, int rank, PrefixChain chain, int from, Arrivals.Fill[] fills, boolean[] stored) {
    Scope scope = session.scope;
    int parent = BlockTable.NONE;
    if (from > 0 && fills.length > 0) {
      parent = queries.holdPrefix(scope, chain, from);
      if (parent == BlockTable.NONE) {
        counters.faults(Fault.SAVE_NO_PARENT, fills.length);
        return;
      }
    }
    for (int i = 0; i < fills.length; i++) {
      int row = blocks.find(scope, chain, from + i);
      if (row == BlockTable.NONE || table.memoryAt(row) == BlockTable.NOWHERE) {
        if (!isAffordable(session)) {
          counters.faults(Fault.SAVE_OVER_BUDGET, fills.length - i);
          break;
        }
        Fault refusal = null;
        long at = memory.allocateFree(scope);
        if (at == MemoryPool.NONE) {
          if (memory.admits(blocks.fingerprint(chain, from + i), parent)) {
            at = memory.allocate(scope);
            refusal = at == MemoryPool.NONE ? Fault.SAVE_NO_MEMORY : null;
          } else {
            refusal = Fault.SAVE_NOT_ADMITTED;
          }
        }
        if (refusal != null) {
          counters.faults(refusal, fills.length - i);
          break;
        }
        if (row == BlockTable.NONE) {
          row = blocks.create(scope, chain, from + i, parent);
        }
        fills[i] = arrivals.startFill(row, scope, at, session.fillBudget);
        fills[i].grant(rank);
      } else {
        Arrivals.Fill fill = arrivals.fill(row);
        stored[i] = fill == null;
        if (fill != null && fill.grant(rank)) {
          fills[i] = fill;
        }
      }
      memory.hold(row);
      if (parent != BlockTable.NONE) {
        memory.release(parent);
      }
      parent = row;
    }
    if (parent != BlockTable.NONE) {
      memory.release(parent);
    }
  }

  /** What one session is saving must leave room for what others ask for. */
  private static boolean isAffordable(CoreSession session) {
    return session.fillBudget.used() == 0 || session.fillBudget.fits(session.scope.recordBytes());
  }

  /**
   * Ends a save.
   *
   * @param crcs checksums of the shards copied, by position in the grant
   * @param copied which shards were copied; the others are aborted
   * @return how many shards were committed
   */
  int end(CoreSave save, SaveState.Event event, int[] crcs, boolean[] copied, long now) {
    save.on(event);
    save.session.saves.remove(save);
    int committed = 0;
    for (int i = 0; i < save.fills.length; i++) {
      Arrivals.Fill fill = save.fills[i];
      if (fill == null) {
        continue;
      }
      fill.deadline = now + limits.fillLife().toNanos();
      if (copied[i]) {
        fill.commit(save.rank, crcs[i]);
        committed++;
      } else {
        fill.abort(save.rank);
      }
      arrivals.writerEnded(fill);
    }
    counters.shardsSaved(committed, save.session.scope.layout().shardBytes());
    return committed;
  }
}
