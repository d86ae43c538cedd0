package io.orbitkv.cli.replay;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What a stand-in engine computes: the bytes of a page are a function of everything that names it, so that any byte of
 * another block, rank or layer, or at another place in its page, is found to be wrong.
 *
 * <p>A page is a row of 64-bit words. The seed mixes namespace, chain hash, rank and layer; word {@code i} is a
 * one-to-one mix of {@code seed + i * GAMMA}. One multiplication a word keeps filling and checking near the speed of
 * memory.
 */
public final class BlockContent {

  private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED;

  /** The odd number nearest to 2^64 divided by the golden ratio: multiples of it are spread evenly. */
  private static final long GAMMA = 0x9E3779B97F4A7C15L;

  private static final long MULTIPLIER = 0xD6E8FEB86659FD93L;

  private final long namespaceSeed;

  /** Fixes the namespace. */
  public BlockContent(Namespace namespace) {
    Digest digest = namespace.digest();
    namespaceSeed = mix(digest.w0() ^ mix(digest.w1() ^ mix(digest.w2() ^ mix(digest.w3()))));
  }

  /** Returns the seed of one page. */
  public long seed(PrefixChain chain, int block, int rank, int layer) {
    long seed = namespaceSeed;
    for (int word = 0; word < 4; word++) {
      seed = mix(seed + GAMMA) ^ chain.word(block, word);
    }
    return mix(seed + GAMMA * ((long) rank << 32 | layer) + 1);
  }

  /** Computes a page: {@code bytes}, a multiple of 8, at {@code offset}. */
  public static void fill(MemorySegment pool, long offset, int bytes, long seed) {
    long word = seed;
    for (int i = 0; i < bytes; i += Long.BYTES) {
      pool.set(WORD, offset + i, mix(word));
      word += GAMMA;
    }
  }

  /** Returns whether every byte of a page is as {@link #fill} left it. */
  public static boolean matches(MemorySegment pool, long offset, int bytes, long seed) {
    long wrong = 0;
    long word = seed;
    for (int i = 0; i < bytes; i += Long.BYTES) {
      wrong |= pool.get(WORD, offset + i) ^ mix(word);
      word += GAMMA;
    }
    return wrong == 0;
  }

  private static long mix(long x) {
    long mixed = (x ^ x >>> 32) * MULTIPLIER;
    return mixed ^ mixed >>> 29;
  }
}
