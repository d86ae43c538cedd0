package io.orbitkv.cli.bench;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Cache;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.terminal.Progress;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;

/**
 * Times a query, its answer with the lease, and the lease's end, of long chains among many resident blocks. Blocks are
 * as small as memory allows, and nothing is copied into them: a lookup reads names, never bytes.
 */
public final class LookupBench {

  private static final int WARM_UP = 20_000;
  private static final int SAVE_PIECE = 250;
  private static final Duration MEMORY_LIMIT = Duration.ofMinutes(3);

  private final Settings settings;

  /**
   * @param settings what is measured
   */
  public LookupBench(Settings settings) {
    this.settings = settings;
  }

  /**
   * What is measured.
   *
   * @param resident blocks in memory
   * @param chainBlocks blocks of a prompt, a divisor of {@code resident}
   * @param lookups timed lookups of each kind
   * @param seed decides the names and the order
   */
  public record Settings(int resident, int chainBlocks, int lookups, long seed) {

    /** Checks the sizes. */
    public Settings {
      if (chainBlocks < 1 || resident < chainBlocks || resident % chainBlocks != 0) {
        throw new RefusedException(
            resident + " resident blocks in chains of " + chainBlocks + ", expected a multiple of the chain's length");
      }
      if (lookups < 1) {
        throw new RefusedException("lookups are " + lookups + ", expected at least 1");
      }
    }

    /** Returns the memory that the blocks need, with room to spare for the allocator's edges. */
    public long memoryBytes() {
      return (long) resident * MemoryPool.ALIGNMENT / 64 * 65 + (64L << 20);
    }

    /** Returns chain {@code which}: no two have a block in common. */
    PrefixChain chain(int which) {
      return chain(which, Integer.MAX_VALUE);
    }

    /** Returns chain {@code which}, with other blocks from {@code differsFrom} on. */
    PrefixChain chain(int which, int differsFrom) {
      int[] ids = new int[chainBlocks];
      Arrays.setAll(ids, i -> i == 0 ? which : i < differsFrom ? i : -i);
      return PrefixChain.ofTokens(ids, 1);
    }
  }

  /**
   * Times in nanoseconds.
   *
   * @param p50 median
   * @param p99 99th percentile
   * @param p999 99.9th percentile
   * @param max the longest
   */
  public record Times(long p50, long p99, long p999, long max) {
    private static Times of(Histogram times) {
      return new Times(times.getValueAtPercentile(50), times.getValueAtPercentile(99),
          times.getValueAtPercentile(99.9), times.getMaxValue());
    }
  }

  /**
   * What was measured.
   *
   * @param settings of the run
   * @param hit every block of the chain is resident
   * @param half the first half of the chain is
   * @param miss none is
   * @param populateSeconds how long saving the blocks took
   */
  public record Result(Settings settings, Times hit, Times half, Times miss, double populateSeconds) {}

  /**
   * Fills a cache and measures.
   *
   * @param cache an empty cache of at least {@link Settings#memoryBytes()}
   * @param progress told of resident blocks, then of timed rounds
   * @return the times
   * @throws InterruptedException if the thread was interrupted
   */
  public Result run(Cache cache, Progress progress) throws InterruptedException {
    Namespace namespace = Namespace.builder("orbitkv-bench", "1", Digest.ZERO).build();
    int chains = settings.resident() / settings.chainBlocks();
    PrefixChain[] hits = new PrefixChain[chains];
    PrefixChain[] halves = new PrefixChain[chains];
    PrefixChain[] misses = new PrefixChain[chains];
    for (int i = 0; i < chains; i++) {
      hits[i] = settings.chain(i);
      halves[i] = settings.chain(i, settings.chainBlocks() / 2);
      misses[i] = settings.chain(chains + i);
    }
    try (Session session = cache.attach(
        new SessionSpec("bench", namespace, ShardLayout.single(MemoryPool.ALIGNMENT)))) {
      long start = System.nanoTime();
      for (int i = 0; i < chains; i++) {
        save(session, hits[i]);
        progress.advanceTo((long) (i + 1) * settings.chainBlocks());
      }
      double populateSeconds = (System.nanoTime() - start) / 1e9;
      Histogram hit = new Histogram(3);
      Histogram half = new Histogram(3);
      Histogram miss = new Histogram(3);
      SplittableRandom random = new SplittableRandom(settings.seed());
      for (int i = -Math.min(WARM_UP, settings.lookups()); i < settings.lookups(); i++) {
        if (i == 0) {
          hit.reset();
          half.reset();
          miss.reset();
        }
        int which = random.nextInt(chains);
        time(session, hits[which], settings.chainBlocks(), hit);
        time(session, misses[which], 0, miss);
        time(session, halves[which], settings.chainBlocks() / 2, half);
      }
      return new Result(settings, Times.of(hit), Times.of(half), Times.of(miss), populateSeconds);
    }
  }

  /** The cache may still be taking its memory: what it has no room for yet is offered again. */
  static void save(Session session, PrefixChain chain) throws InterruptedException {
    long deadline = System.nanoTime() + MEMORY_LIMIT.toNanos();
    int from = 0;
    while (from < chain.blocks()) {
      int to = Math.min(from + SAVE_PIECE, chain.blocks());
      int saved = saveNow(session, chain, from, to);
      from += saved;
      if (saved == 0) {
        if (System.nanoTime() > deadline) {
          throw new UnavailableException("the cache found no room for block " + from + " of a chain within "
              + MEMORY_LIMIT.toSeconds() + " s; give it more memory with --dram");
        }
        Thread.sleep(5);
      }
    }
  }

  private static int saveNow(Session session, PrefixChain chain, int from, int to) {
    try (SaveGrant grant = session.reserve(0, chain, from, to)) {
      for (int block = from; block < to && grant.wants(block); block++) {
        grant.copied(block, 0);
      }
      return grant.commit();
    }
  }

  private static void time(Session session, PrefixChain chain, int expected, Histogram times) {
    long start = System.nanoTime();
    Answer answer = session.query(chain).poll();
    int blocks = 0;
    if (answer instanceof Answer.Hit hit) {
      blocks = hit.blocks();
      hit.lease().close();
    }
    times.recordValue(System.nanoTime() - start);
    if (blocks != expected) {
      throw new IllegalStateException("a lookup of a chain with " + expected + " resident blocks answered " + answer);
    }
  }
}
