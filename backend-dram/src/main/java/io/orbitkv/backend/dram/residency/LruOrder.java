package io.orbitkv.backend.dram.residency;

import io.orbitkv.api.spi.EvictionOrder;

/**
 * Exact LRU by use of the prefix. A use is noted at its deepest block; a block that leaves hands its last use up to its
 * parent, so a block that can leave always knows the last use of everything that was ever below it.
 */
final class LruOrder implements EvictionOrder {

  private final LongColumn lastUse = new LongColumn();
  private final IntColumn parents = new IntColumn();
  private final IntColumn releasable = new IntColumn();
  private final BlockHeap oldest = new BlockHeap(lastUse, new IntColumn(), false);
  private long clock;

  @Override
  public void inserted(int block, int parent, long fingerprint) {
    lastUse.set(block, ++clock);
    parents.set(block, parent);
    releasable.set(block, 0);
  }

  @Override
  public void used(int block) {
    boolean ranked = releasable.get(block) != 0;
    if (ranked) {
      oldest.remove(block);
    }
    lastUse.set(block, ++clock);
    if (ranked) {
      oldest.add(block);
    }
  }

  @Override
  public void held(int block) {
    oldest.remove(block);
    releasable.set(block, 0);
  }

  @Override
  public void released(int block) {
    oldest.add(block);
    releasable.set(block, 1);
  }

  @Override
  public void removed(int block, boolean evicted) {
    held(block);
    int parent = parents.get(block);
    if (parent != NONE) {
      lastUse.set(parent, Math.max(lastUse.get(parent), lastUse.get(block)));
    }
  }

  @Override
  public int victim() {
    return oldest.first();
  }
}
