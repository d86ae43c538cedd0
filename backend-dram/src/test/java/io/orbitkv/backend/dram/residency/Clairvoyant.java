package io.orbitkv.backend.dram.residency;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * The most hits that any order could have: after each request, the blocks of it and those in memory whose next use is
 * nearest are kept. A block is never used later than its successor, so what is kept is closed under prefixes.
 */
final class Clairvoyant {

  private Clairvoyant() {}

  private record Use(int request, int depth, int id) implements Comparable<Use> {
    @Override
    public int compareTo(Use other) {
      int order = Integer.compare(request, other.request);
      order = order == 0 ? Integer.compare(depth, other.depth) : order;
      return order == 0 ? Integer.compare(id, other.id) : order;
    }
  }

  static long hits(Trace trace, int capacity) {
    int requests = trace.requests().size();
    // The next use of each block of each request, found backwards.
    int[][] nextUse = new int[requests][];
    Map<Integer, Integer> later = new HashMap<>();
    for (int request = requests - 1; request >= 0; request--) {
      int[] ids = trace.requests().get(request);
      nextUse[request] = new int[ids.length];
      for (int depth = 0; depth < ids.length; depth++) {
        Integer next = later.put(ids[depth], request);
        nextUse[request][depth] = next == null ? Integer.MAX_VALUE : next;
      }
    }
    TreeSet<Use> kept = new TreeSet<>();
    Map<Integer, Use> keptById = new HashMap<>();
    long hits = 0;
    for (int request = 0; request < requests; request++) {
      int[] ids = trace.requests().get(request);
      for (int depth = 0; depth < ids.length; depth++) {
        Use use = keptById.remove(ids[depth]);
        if (use != null) {
          hits++;
          kept.remove(use);
        }
        if (nextUse[request][depth] != Integer.MAX_VALUE) {
          Use next = new Use(nextUse[request][depth], depth, ids[depth]);
          keptById.put(ids[depth], next);
          kept.add(next);
        }
      }
      while (kept.size() > capacity) {
        keptById.remove(kept.pollLast().id());
      }
    }
    return hits;
  }
}
