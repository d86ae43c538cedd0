package io.orbitkv.benchmarks;

import io.orbitkv.api.Answer;
import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.EmbeddedCache;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
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
import org.openjdk.jmh.annotations.TearDown;

/**
 * A query with its lease and the lease's end, of a long prompt among many resident blocks: what an engine's scheduler
 * waits for. The reference asks a hash set for each block in turn, as a cache without prefix-closed residency has to.
 *
 * <p>A million blocks take 4 GiB of memory, and the reference about 100 MB of heap: run with {@code -jvmArgs -Xmx2g}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class LookupBenchmark {

  private static final int BLOCK_BYTES = 4096;
  private static final int SAVE_PIECE = 250;

  /** Blocks in memory. */
  @Param("1000000")
  int resident;

  /** Blocks of a prompt: 20,000 tokens in blocks of 16. */
  @Param("1250")
  int chainBlocks;

  private final SplittableRandom random = new SplittableRandom(1);
  private Cache cache;
  private Session session;
  private PrefixChain[] hits;
  private PrefixChain[] misses;
  private Set<Digest> reference;

  /** Fills a cache and the reference with the same blocks. Nothing is copied: a lookup reads names, never bytes. */
  @Setup(Level.Trial)
  public void fill() throws InterruptedException {
    int chains = resident / chainBlocks;
    hits = new PrefixChain[chains];
    misses = new PrefixChain[chains];
    reference = HashSet.newHashSet(resident);
    cache = EmbeddedCache.builder()
        .memory("private")
        .dram(new ByteSize((long) resident * BLOCK_BYTES / 64 * 65 + (64L << 20)))
        .open();
    session = cache.attach(new SessionSpec(
        "benchmark", Namespace.builder("benchmark", "1", Digest.ZERO).build(), ShardLayout.single(BLOCK_BYTES)));
    for (int i = 0; i < chains; i++) {
      hits[i] = chain(i);
      misses[i] = chain(chains + i);
      save(hits[i]);
      for (int block = 0; block < chainBlocks; block++) {
        reference.add(hits[i].hash(block));
      }
    }
  }

  /** Gives the memory back. */
  @TearDown(Level.Trial)
  public void close() {
    session.close();
    cache.close();
  }

  /** Every block is resident. */
  @Benchmark
  public int hit() {
    return lookup(hits[random.nextInt(hits.length)]);
  }

  /** No block is. */
  @Benchmark
  public int miss() {
    return lookup(misses[random.nextInt(misses.length)]);
  }

  /** Every block is resident and each is asked for. */
  @Benchmark
  public int hitByHashSet() {
    return leadingRun(hits[random.nextInt(hits.length)]);
  }

  /** The first block is not resident. */
  @Benchmark
  public int missByHashSet() {
    return leadingRun(misses[random.nextInt(misses.length)]);
  }

  private int lookup(PrefixChain chain) {
    if (session.query(chain).poll() instanceof Answer.Hit hit) {
      hit.lease().close();
      return hit.blocks();
    }
    return 0;
  }

  private int leadingRun(PrefixChain chain) {
    int block = 0;
    while (block < chain.blocks() && reference.contains(chain.hash(block))) {
      block++;
    }
    return block;
  }

  private PrefixChain chain(int which) {
    int[] ids = new int[chainBlocks];
    Arrays.setAll(ids, i -> i == 0 ? which : i);
    return PrefixChain.ofTokens(ids, 1);
  }

  /** The cache may still be taking its memory: what it has no room for yet is offered again. */
  private void save(PrefixChain chain) throws InterruptedException {
    int from = 0;
    while (from < chain.blocks()) {
      int to = Math.min(from + SAVE_PIECE, chain.blocks());
      try (SaveGrant grant = session.reserve(0, chain, from, to)) {
        for (int block = from; block < to && grant.wants(block); block++) {
          grant.copied(block, 0);
        }
        from += grant.commit();
      }
      if (from < to) {
        Thread.sleep(1);
      }
    }
  }
}
