package io.orbitkv.backend.dram.residency;

import io.orbitkv.api.spi.EvictionOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Drives an eviction order as the core does: a request is served its leading run of blocks in memory, holds the deepest
 * of them, and then saves its other blocks one behind another, for each of which one may have to leave. Only blocks
 * without successors in memory that nobody holds leave.
 */
final class TraceReplay {

  private static final class Block {
    final int number;
    final int id;
    final Block parent;
    int successors;
    boolean held;

    Block(int number, int id, Block parent) {
      this.number = number;
      this.id = id;
      this.parent = parent;
    }

    boolean canLeave() {
      return successors == 0 && !held;
    }
  }

  private final EvictionOrder order;
  private final int capacity;
  private final Map<Integer, Block> byId = new HashMap<>();
  private final List<Block> byNumber = new ArrayList<>();
  private final Deque<Integer> freeNumbers = new ArrayDeque<>();
  private long hits;

  private TraceReplay(EvictionOrder order, int capacity) {
    this.order = order;
    this.capacity = capacity;
  }

  /**
   * Replays a trace from empty memory.
   *
   * @param capacity blocks that fit in memory
   * @return blocks hit
   */
  static long hits(Trace trace, EvictionOrder order, int capacity) {
    TraceReplay replay = new TraceReplay(order, capacity);
    trace.requests().forEach(replay::request);
    return replay.hits;
  }

  private void request(int[] ids) {
    Block deepest = null;
    int served = 0;
    while (served < ids.length && byId.containsKey(ids[served])) {
      deepest = byId.get(ids[served++]);
    }
    hits += served;
    if (deepest != null) {
      order.used(deepest.number);
      hold(deepest);
    }
    for (int i = served; i < ids.length; i++) {
      Block saved = save(ids[i], deepest);
      if (saved == null) {
        break;
      }
      if (deepest != null) {
        deepest.held = false; // Its successor holds it now.
      }
      deepest = saved;
    }
    if (deepest != null) {
      deepest.held = false;
      if (deepest.canLeave()) {
        order.released(deepest.number);
      }
    }
  }

  private void hold(Block block) {
    if (block.canLeave()) {
      order.held(block.number);
    }
    block.held = true;
  }

  private Block save(int id, Block parent) {
    int parentNumber = parent == null ? EvictionOrder.NONE : parent.number;
    if (byId.size() == capacity) {
      if (!order.admits(fingerprint(id), parentNumber) || !evict()) {
        return null;
      }
    }
    Block block = new Block(freeNumbers.isEmpty() ? byNumber.size() : freeNumbers.pop(), id, parent);
    if (block.number == byNumber.size()) {
      byNumber.add(block);
    } else {
      byNumber.set(block.number, block);
    }
    byId.put(id, block);
    block.held = true;
    if (parent != null) {
      parent.successors++;
    }
    order.inserted(block.number, parentNumber, fingerprint(id));
    return block;
  }

  private boolean evict() {
    int number = order.victim();
    if (number == EvictionOrder.NONE) {
      return false;
    }
    Block victim = byNumber.get(number);
    if (!victim.canLeave() || byId.get(victim.id) != victim) {
      throw new AssertionError("block " + number + " cannot leave, and is the victim");
    }
    byId.remove(victim.id);
    freeNumbers.push(number);
    order.removed(number, true);
    Block parent = victim.parent;
    if (parent != null && --parent.successors == 0 && !parent.held) {
      order.released(parent.number);
    }
    return true;
  }

  /** The finalizer of SplitMix64: a bijection that mixes well. */
  static long fingerprint(int id) {
    long z = id + 0x9E3779B97F4A7C15L;
    z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
    return z ^ z >>> 31;
  }

  /** Blocks hit by memory without end, counted without any of the above. */
  static long hitsWithoutEviction(Trace trace) {
    Set<Integer> seen = new HashSet<>();
    long hits = 0;
    for (int[] ids : trace.requests()) {
      int served = 0;
      while (served < ids.length && seen.contains(ids[served])) {
        served++;
      }
      hits += served;
      for (int id : ids) {
        seen.add(id);
      }
    }
    return hits;
  }
}
