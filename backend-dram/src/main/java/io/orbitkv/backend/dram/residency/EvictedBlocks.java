package io.orbitkv.backend.dram.residency;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.RemovalCause;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * What is remembered of blocks that left memory, by fingerprint: the last {@value #CAPACITY} of them, in a Caffeine
 * cache.
 *
 * <p>The cache's clock is driven by departures: each moves it on by one {@link #STEP}, and an entry expires after
 * {@value #CAPACITY} steps. So the bound is exact, the oldest departure goes first, and the same calls give the same
 * history; a bound by size would let the cache choose, in part at random.
 *
 * <p>An entry costs about 150 bytes, 10 MB in all. It is the one allocation that a departing block costs: the history
 * must hold it as an object, and it is short beside the bytes that left.
 */
final class EvictedBlocks {

  /**
   * How many blocks. On the conversation trace half as many do as well as sixteen times as many, at any size of memory;
   * none at all costs 1.1 to 5.2 points of hit rate.
   */
  static final int CAPACITY = 1 << 16;

  // Above the second within which the cache may take two writes for one.
  private static final Duration STEP = Duration.ofSeconds(2);

  private final Cache<Long, Past> blocks;
  private final Consumer<Past> forgotten;
  private long departures;

  /**
   * What a block was.
   *
   * @param uses how often it came back
   * @param lastUse the request that used it last
   * @param sample its number in {@link SampledBlocks}, or -1
   */
  record Past(int uses, long lastUse, int sample) {}

  /**
   * An empty history.
   *
   * @param forgotten receives what is dropped
   */
  EvictedBlocks(Consumer<Past> forgotten) {
    this.forgotten = forgotten;
    this.blocks = Caffeine.newBuilder()
        .executor(Runnable::run)
        .ticker(() -> departures * STEP.toNanos())
        .expireAfterWrite(STEP.multipliedBy(CAPACITY))
        .evictionListener((Long fingerprint, Past past, RemovalCause cause) -> forgotten.accept(past))
        .build();
  }

  /** Notes a block that left. */
  void put(long fingerprint, Past past) {
    departures++;
    Past other = blocks.asMap().put(fingerprint, past);
    if (other != null) {
      forgotten.accept(other);
    }
  }

  /** Takes a block out that came back; null if it is not remembered. */
  Past take(long fingerprint) {
    return blocks.asMap().remove(fingerprint);
  }
}
