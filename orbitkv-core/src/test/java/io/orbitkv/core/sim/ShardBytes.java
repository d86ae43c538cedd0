package io.orbitkv.core.sim;

import io.orbitkv.api.PrefixChain;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** What a shard holds: a function of its model, its block's name and its rank, so that every byte can be checked. */
public final class ShardBytes {

  private ShardBytes() {}

  /**
   * Writes a shard, a multiple of 8 bytes.
   *
   * @return its checksum
   */
  public static int write(MemorySegment shard, int model, PrefixChain chain, int block, int rank) {
    for (long at = 0; at < shard.byteSize(); at += Long.BYTES) {
      shard.set(ValueLayout.JAVA_LONG_UNALIGNED, at, word(model, chain, block, rank, at));
    }
    return crc(shard.asByteBuffer());
  }

  /** Returns whether a shard holds what {@link #write} wrote. */
  public static boolean matches(MemorySegment shard, int model, PrefixChain chain, int block, int rank) {
    for (long at = 0; at < shard.byteSize(); at += Long.BYTES) {
      if (shard.get(ValueLayout.JAVA_LONG_UNALIGNED, at) != word(model, chain, block, rank, at)) {
        return false;
      }
    }
    return true;
  }

  static int crc(ByteBuffer shard) {
    CRC32C crc = new CRC32C();
    crc.update(shard);
    return (int) crc.getValue();
  }

  private static long word(int model, PrefixChain chain, int block, int rank, long at) {
    return chain.word(block, 1) + model * 31L + rank * 1_000_003L + at;
  }
}
