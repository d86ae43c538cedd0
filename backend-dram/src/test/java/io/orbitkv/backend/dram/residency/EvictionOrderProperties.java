package io.orbitkv.backend.dram.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

/** What every order promises, whatever it prefers; and what LRU prefers. */
class EvictionOrderProperties {

  @Provide
  Arbitrary<ResidencyPolicy> policies() {
    return Arbitraries.of(new LruPolicy(), new TinyLfuPolicy(), new HitDensityPolicy());
  }

  private record Block(int number, int parent, long fingerprint) {}

  private final Map<Integer, Block> resident = new TreeMap<>();
  private final TreeSet<Integer> releasable = new TreeSet<>();
  private final Map<Integer, Integer> successors = new TreeMap<>();
  private final Deque<Integer> freeNumbers = new ArrayDeque<>();
  private int nextNumber;

  @Property(tries = 120)
  void victimIsAlwaysABlockThatCanLeave(
      @ForAll("policies") ResidencyPolicy policy, @ForAll long seed, @ForAll @IntRange(min = 1, max = 400) int steps) {
    resident.clear();
    releasable.clear();
    successors.clear();
    freeNumbers.clear();
    nextNumber = 0;
    Random random = new Random(seed);
    // Often fewer than come in: the capacity is an estimate.
    EvictionOrder order = open(policy, 1 + random.nextInt(50));
    for (int step = 0; step < steps; step++) {
      int block = resident.isEmpty() ? EvictionOrder.NONE : any(random, List.copyOf(resident.keySet()));
      switch (random.nextInt(7)) {
        case 0, 1, 2 -> insert(order, random.nextInt(4) == 0 ? EvictionOrder.NONE : block, random.nextInt(500));
        case 3 -> {
          if (block != EvictionOrder.NONE) {
            order.used(block);
          }
        }
        case 4 -> {
          if (releasable.remove(block)) {
            order.held(block);
          } else if (block != EvictionOrder.NONE && !successors.containsKey(block)) {
            release(order, block);
          }
        }
        case 5 -> remove(order, order.victim(), true);
        default -> {
          if (!releasable.isEmpty()) {
            remove(order, any(random, List.copyOf(releasable)), false);
          }
        }
      }
      int victim = order.victim();
      assertThat(order.victim()).as("asked again").isEqualTo(victim);
      if (releasable.isEmpty()) {
        assertThat(victim).isEqualTo(EvictionOrder.NONE);
      } else {
        assertThat(releasable).contains(victim);
      }
    }
    while (!releasable.isEmpty()) {
      remove(order, order.victim(), true);
    }
    assertThat(order.victim()).isEqualTo(EvictionOrder.NONE);
  }

  private void insert(EvictionOrder order, int parent, long fingerprint) {
    if (resident.values().stream().anyMatch(block -> block.fingerprint() == fingerprint)) {
      return;
    }
    int number = freeNumbers.isEmpty() ? nextNumber++ : freeNumbers.pop();
    order.inserted(number, parent, fingerprint);
    resident.put(number, new Block(number, parent, fingerprint));
    if (parent != EvictionOrder.NONE) {
      successors.merge(parent, 1, Integer::sum);
      if (releasable.remove(parent)) {
        order.held(parent);
      }
    }
  }

  private void release(EvictionOrder order, int block) {
    releasable.add(block);
    order.released(block);
  }

  private void remove(EvictionOrder order, int block, boolean evicted) {
    if (block == EvictionOrder.NONE) {
      return;
    }
    int parent = resident.remove(block).parent();
    releasable.remove(block);
    freeNumbers.push(block);
    order.removed(block, evicted);
    if (parent != EvictionOrder.NONE && successors.merge(parent, -1, Integer::sum) == 0) {
      successors.remove(parent);
      release(order, parent);
    }
  }

  @Property(tries = 100)
  void lruIsLruByUseOfThePrefix(@ForAll long seed, @ForAll @IntRange(min = 8, max = 60) int capacity) {
    Trace trace = randomTree(new Random(seed));
    assertThat(TraceReplay.hits(trace, open(new LruPolicy(), capacity), capacity))
        .isEqualTo(NaiveLru.hits(trace, capacity));
  }

  @Property(tries = 30)
  void noOrderHitsMoreThanTheClairvoyant(
      @ForAll("policies") ResidencyPolicy policy, @ForAll long seed,
      @ForAll @IntRange(min = 8, max = 60) int capacity) {
    Trace trace = randomTree(new Random(seed));
    assertThat(TraceReplay.hits(trace, open(policy, capacity), capacity))
        .isLessThanOrEqualTo(Clairvoyant.hits(trace, capacity));
    assertThat(TraceReplay.hits(trace, open(policy, 100_000), 100_000))
        .as("memory without end").isEqualTo(TraceReplay.hitsWithoutEviction(trace));
  }

  /** Requests of up to 8 blocks that walk a tree of prefixes, so that they share them. */
  private static Trace randomTree(Random random) {
    List<int[]> requests = new ArrayList<>();
    for (int request = 0; request < 200; request++) {
      int[] ids = new int[1 + random.nextInt(8)];
      int id = 0;
      for (int depth = 0; depth < ids.length; depth++) {
        id = id * 3 + 1 + (random.nextInt(3) == 0 ? random.nextInt(3) : 0);
        ids[depth] = id;
      }
      requests.add(ids);
    }
    return new Trace("tree", requests);
  }

  @Property(tries = 3)
  void settings_areRefused(@ForAll("policies") ResidencyPolicy policy) {
    assertThatThrownBy(() -> policy.open(new PolicyOptions(10, 0, Map.of("window", "1"))))
        .isInstanceOf(RefusedException.class).hasMessageContaining(policy.name()).hasMessageContaining("window");
  }

  private static EvictionOrder open(ResidencyPolicy policy, int capacity) {
    return policy.open(new PolicyOptions(capacity, 0, Map.of()));
  }

  private static <T> T any(Random random, List<T> of) {
    return of.get(random.nextInt(of.size()));
  }
}
