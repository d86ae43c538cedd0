package io.orbitkv.benchmarks;

import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.core.Backends;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * What a policy costs a query and an eviction: a use of a random block, then the victim leaves and a new block takes
 * its place. The reference is the platform's linked hash map in access order, the textbook LRU.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EvictionOrderBenchmark {

  private static final long GAMMA = 0x9E3779B97F4A7C15L;

  /** Blocks in memory. */
  @Param("100000")
  int blocks;

  /** The policy; "linked-hash-map" is the reference. */
  @Param({"lru", "tinylfu", "hit-density", "linked-hash-map"})
  String policy;

  private final SplittableRandom random = new SplittableRandom(1);
  private EvictionOrder order;
  private long names;

  /** Fills the order; every block can leave. */
  @Setup(Level.Trial)
  public void fill() {
    order = policy.equals("linked-hash-map")
        ? new LinkedHashMapOrder(blocks)
        : Backends.installed().policy(policy).open(new PolicyOptions(blocks, 1, Map.of()));
    for (int block = 0; block < blocks; block++) {
      order.inserted(block, EvictionOrder.NONE, names++ * GAMMA);
      order.released(block);
    }
  }

  /** A query is served to a random block. */
  @Benchmark
  public void use() {
    order.used(random.nextInt(blocks));
  }

  /** A query is served, and a block leaves for a new one. */
  @Benchmark
  public int useAndReplace() {
    order.used(random.nextInt(blocks));
    int victim = order.victim();
    order.removed(victim, true);
    order.inserted(victim, EvictionOrder.NONE, names++ * GAMMA);
    order.released(victim);
    return victim;
  }

  private static final class LinkedHashMapOrder implements EvictionOrder {
    private final Map<Integer, Integer> leavable;

    LinkedHashMapOrder(int blocks) {
      leavable = new LinkedHashMap<>(2 * blocks, 0.75f, true);
    }

    @Override
    public void inserted(int block, int parent, long fingerprint) {}

    @Override
    public void used(int block) {
      leavable.get(block);
    }

    @Override
    public void held(int block) {
      leavable.remove(block);
    }

    @Override
    public void released(int block) {
      leavable.put(block, block);
    }

    @Override
    public void removed(int block, boolean evicted) {
      leavable.remove(block);
    }

    @Override
    public int victim() {
      return leavable.isEmpty() ? NONE : leavable.keySet().iterator().next();
    }
  }
}
