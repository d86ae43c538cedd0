package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.spi.ExtentHeader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/**
 * An extent whose name and bytes follow from a number, so that whoever has the name can check every byte.
 *
 * @param number what it follows from
 * @param shards number of shards
 * @param shardBytes bytes of each
 */
record TestExtent(long number, int shards, int shardBytes) {

  private static final Namespace NAMESPACE = new Namespace(Digest.sha256(new byte[] {1}));

  /** Returns the extent that a header names, trusting its shape. */
  static TestExtent of(ExtentHeader header, int shards) {
    return new TestExtent(header.key().w0(), shards, header.shardBytes());
  }

  long payloadBytes() {
    return (long) shards * shardBytes;
  }

  long recordBytes() {
    return Page.roundUp(Page.BYTES + payloadBytes());
  }

  /** Writes the payload behind the room for the header and returns the header. */
  ExtentHeader fill(MemorySegment record) {
    Checksum checksum = new Checksum();
    int[] crcs = new int[shards];
    for (int shard = 0; shard < shards; shard++) {
      long from = Page.BYTES + (long) shard * shardBytes;
      fillShard(record.asSlice(from, shardBytes), shard);
      crcs[shard] = checksum.of(record, from, shardBytes);
    }
    return header(crcs);
  }

  /** Returns what a reader expects: the name and the shape. */
  ExtentHeader expected() {
    return header(new int[shards]);
  }

  /** Returns whether the payload in a record is this extent's. */
  boolean isIn(MemorySegment record) {
    MemorySegment wanted = MemorySegment.ofArray(new byte[shardBytes]);
    for (int shard = 0; shard < shards; shard++) {
      fillShard(wanted, shard);
      long from = Page.BYTES + (long) shard * shardBytes;
      if (MemorySegment.mismatch(wanted, 0, shardBytes, record, from, from + shardBytes) != -1) {
        return false;
      }
    }
    return true;
  }

  private ExtentHeader header(int[] crcs) {
    return new ExtentHeader(
        NAMESPACE, 3, new Digest(number, 1, 2, 3), new Digest(number - 1, 1, 2, 3), (int) number, shardBytes, crcs);
  }

  private void fillShard(MemorySegment target, int shard) {
    SplittableRandom random = new SplittableRandom(number * 256 + shard);
    long words = target.byteSize() / Long.BYTES;
    for (long word = 0; word < words; word++) {
      target.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, word, random.nextLong());
    }
    for (long at = words * Long.BYTES; at < target.byteSize(); at++) {
      target.set(ValueLayout.JAVA_BYTE, at, (byte) random.nextInt());
    }
  }
}
