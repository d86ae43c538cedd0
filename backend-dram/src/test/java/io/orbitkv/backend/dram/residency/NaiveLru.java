package io.orbitkv.backend.dram.residency;

import java.util.LinkedHashMap;

/**
 * LRU written another way, to check ours against: one list of blocks, in which a request moves its blocks to the front
 * from its last to its first. So no block is ever behind its successor, and the last of the list can always leave.
 */
final class NaiveLru {

  private NaiveLru() {}

  static long hits(Trace trace, int capacity) {
    LinkedHashMap<Integer, Boolean> list = new LinkedHashMap<>(16, 0.75f, true);
    long hits = 0;
    for (int[] ids : trace.requests()) {
      int served = 0;
      while (served < ids.length && list.containsKey(ids[served])) {
        served++;
      }
      hits += served;
      for (int i = Math.min(ids.length, capacity) - 1; i >= 0; i--) {
        list.put(ids[i], true);
      }
      while (list.size() > capacity) {
        list.pollFirstEntry();
      }
    }
    return hits;
  }
}
