package io.orbitkv.backend.dram.residency;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Policy;
import io.orbitkv.api.spi.EvictionOrder;

/**
 * Lets a Caffeine cache rank the blocks in memory, as a cache of single blocks would, and takes the coldest that can
 * leave. The cache holds every block, keyed by fingerprint, so that the frequencies it counts outlive a block's stay.
 * It never evicts by itself: its maximum is raised before it would.
 *
 * <p>A use is told to the cache for the whole prefix, deepest block first, so that ancestors are warmer than what hangs
 * on them and few blocks that must stay are passed over. That costs O(depth) a use, and entries are objects: this order
 * is a baseline to measure against, not one for deep prefixes.
 */
final class TinyLfuOrder implements EvictionOrder {

  private static final int NEW = 0;
  private static final int HELD = 1;
  private static final int RELEASABLE = 2;

  private final Cache<Long, Integer> blocks;
  private final Policy.Eviction<Long, Integer> eviction;
  private final LongColumn fingerprints = new LongColumn();
  private final IntColumn parents = new IntColumn();
  private final IntColumn states = new IntColumn();
  private long maximum;
  private long size;

  TinyLfuOrder(long capacityBlocks) {
    maximum = capacityBlocks;
    blocks = Caffeine.newBuilder().maximumSize(maximum).executor(Runnable::run).build();
    eviction = blocks.policy().eviction().orElseThrow();
  }

  @Override
  public void inserted(int block, int parent, long fingerprint) {
    if (++size > maximum) {
      maximum = Math.multiplyExact(maximum, 2);
      eviction.setMaximum(maximum);
    }
    fingerprints.set(block, fingerprint);
    parents.set(block, parent);
    states.set(block, NEW);
    blocks.put(fingerprint, block);
  }

  @Override
  public void used(int block) {
    for (int at = block; at != NONE; at = parents.get(at)) {
      blocks.getIfPresent(fingerprints.get(at));
      if (states.get(at) == NEW) {
        states.set(at, HELD);
      }
    }
  }

  @Override
  public void held(int block) {
    states.set(block, HELD);
  }

  @Override
  public void released(int block) {
    if (states.get(block) == NEW) {
      used(block); // It came in after its ancestors, and must not be warmer than they.
    }
    states.set(block, RELEASABLE);
  }

  @Override
  public void removed(int block, boolean evicted) {
    blocks.invalidate(fingerprints.get(block));
    states.set(block, HELD);
    size--;
  }

  @Override
  public int victim() {
    return eviction.coldest(order -> order.mapToInt(Policy.CacheEntry::getValue)
        .filter(block -> states.get(block) == RELEASABLE).findFirst().orElse(NONE));
  }
}
