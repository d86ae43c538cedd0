package io.orbitkv.cli.bench;

import io.orbitkv.api.Cache;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.terminal.Progress;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * Times the start of a cache over a store of many small extents: from asking for the cache to a cache that answers.
 * Afterwards some of the prefixes are read back and compared, so that a fast start that finds nothing does not count.
 */
public final class RecoveryBench {

  /** Bytes of a block; its header takes as much again on the disk. */
  public static final int BLOCK_BYTES = 4096;

  private static final int CHAIN_BLOCKS = 1_000;
  /** Blocks saved between two waits for the disk, few enough that none leaves memory unwritten. */
  private static final int UNWRITTEN_BLOCKS = 32_000;
  private static final int CHECKED_CHAINS = 20;
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private final int extents;

  /**
   * @param extents how many, a multiple of 1,000
   */
  public RecoveryBench(int extents) {
    if (extents < CHAIN_BLOCKS || extents % CHAIN_BLOCKS != 0) {
      throw new RefusedException(extents + " extents, expected a multiple of " + CHAIN_BLOCKS);
    }
    this.extents = extents;
  }

  /**
   * What was measured.
   *
   * @param extents written
   * @param fillSeconds how long writing them took
   * @param openSeconds from asking for the cache to having it
   * @param report what the store found
   * @param blocksFound blocks on the SSD that can be reached
   * @param bytesCompared bytes read back afterwards, all right
   */
  public record Result(int extents, double fillSeconds, double openSeconds, RecoveryReport report, long blocksFound,
      long bytesCompared) {}

  /** Returns the disk that the extents need, with room for segments' bookkeeping and for emptying. */
  public long storeBytes() {
    return extents * 2L * BLOCK_BYTES / 8 * 9 + (512L << 20);
  }

  /** Returns the memory for the run. */
  public static long memoryBytes() {
    return 4L * UNWRITTEN_BLOCKS * BLOCK_BYTES;
  }

  /**
   * Fills a store, closes it, opens it again and reads.
   *
   * @param opener opens a cache over one and the same folder, empty at first
   * @param progress told of extents written
   * @return the times
   * @throws InterruptedException if the thread was interrupted
   * @throws UnavailableException if the disk does not keep up, or a prefix is not found or not right afterwards
   */
  public Result run(CacheOpener opener, Progress progress) throws InterruptedException {
    long start = System.nanoTime();
    try (Cache cache = opener.open().cache()) {
      fill(cache, progress);
    }
    double fillSeconds = secondsSince(start);
    start = System.nanoTime();
    CacheOpener.Opened opened = opener.open();
    double openSeconds = secondsSince(start);
    try (Cache cache = opened.cache()) {
      RecoveryReport report = opened.recovery().orElseThrow();
      long found = cache.stats().blocksSsd();
      return new Result(extents, fillSeconds, openSeconds, report, found, compare(cache));
    }
  }

  private void fill(Cache cache, Progress progress) throws InterruptedException {
    try (Session session = attach(cache); Arena arena = Arena.ofConfined()) {
      MemorySegment blocks = arena.allocate((long) CHAIN_BLOCKS * BLOCK_BYTES);
      for (int chain = 0; chain < extents / CHAIN_BLOCKS; chain++) {
        write(blocks, chain);
        int saved = session.store(chain(chain), 0, blocks);
        boolean full = (chain + 1) * CHAIN_BLOCKS % UNWRITTEN_BLOCKS == 0;
        if (saved < CHAIN_BLOCKS || full && !cache.flush(LIMIT)) {
          throw new UnavailableException("the cache took " + saved + " of " + CHAIN_BLOCKS + " blocks of chain " + chain
              + ", or the disk did not write them in " + LIMIT.toSeconds() + " s; use a faster disk");
        }
        progress.advanceTo((chain + 1L) * CHAIN_BLOCKS);
      }
      if (!cache.flush(LIMIT)) {
        throw new UnavailableException("the disk did not write the last blocks in " + LIMIT.toSeconds() + " s");
      }
    }
  }

  private long compare(Cache cache) throws InterruptedException {
    int chains = extents / CHAIN_BLOCKS;
    long bytes = 0;
    try (Session session = attach(cache); Arena arena = Arena.ofConfined()) {
      MemorySegment expected = arena.allocate((long) CHAIN_BLOCKS * BLOCK_BYTES);
      MemorySegment restored = arena.allocate((long) CHAIN_BLOCKS * BLOCK_BYTES);
      for (int i = 0; i < Math.min(CHECKED_CHAINS, chains); i++) {
        int which = (int) ((long) i * chains / Math.min(CHECKED_CHAINS, chains));
        write(expected, which);
        int blocks = session.load(chain(which), restored, LIMIT);
        if (blocks != CHAIN_BLOCKS || expected.mismatch(restored) != -1) {
          throw new UnavailableException("after the restart chain " + which + " has " + blocks + " of " + CHAIN_BLOCKS
              + " blocks, first difference at byte " + expected.mismatch(restored));
        }
        bytes += restored.byteSize();
      }
    }
    return bytes;
  }

  private static Session attach(Cache cache) {
    return cache.attach(new SessionSpec(
        "bench", Namespace.builder("orbitkv-bench", "1", Digest.ZERO).build(), ShardLayout.single(BLOCK_BYTES)));
  }

  private static PrefixChain chain(int which) {
    int[] ids = new int[CHAIN_BLOCKS];
    ids[0] = which;
    return PrefixChain.ofTokens(ids, 1);
  }

  /** Every word is its own, so that no block can stand for another. */
  private static void write(MemorySegment blocks, int chain) {
    for (long at = 0; at < blocks.byteSize(); at += Long.BYTES) {
      blocks.set(ValueLayout.JAVA_LONG, at, (long) chain << 32 | at);
    }
  }

  private static double secondsSince(long start) {
    return (System.nanoTime() - start) / 1e9;
  }
}
