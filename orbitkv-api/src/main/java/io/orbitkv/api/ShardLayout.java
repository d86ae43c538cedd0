package io.orbitkv.api;

/**
 * How a block's bytes are divided over the ranks of one engine instance. Every rank holds one <em>shard</em> of every
 * block: all its layers' pages, packed. A block becomes visible when all shards are committed.
 *
 * @param ranks how many ranks hold a shard each, 1 to 256
 * @param shardBytes bytes of one rank's shard of one block, 1 to 1 GiB
 */
public record ShardLayout(int ranks, int shardBytes) {

  /** The most ranks of one instance. */
  public static final int MAX_RANKS = 256;

  /** The most bytes of one shard. */
  public static final int MAX_SHARD_BYTES = 1 << 30;

  /** Checks the bounds. */
  public ShardLayout {
    if (ranks < 1 || ranks > MAX_RANKS) {
      throw new RefusedException("layout has " + ranks + " ranks, expected 1 to " + MAX_RANKS);
    }
    if (shardBytes < 1 || shardBytes > MAX_SHARD_BYTES) {
      throw new RefusedException("shard has " + shardBytes + " bytes, expected 1 to " + MAX_SHARD_BYTES);
    }
  }

  /**
   * A layout of one rank.
   *
   * @param blockBytes bytes of a block
   */
  public static ShardLayout single(int blockBytes) {
    return new ShardLayout(1, blockBytes);
  }

  /** Returns the bytes of a block over all ranks. */
  public long blockBytes() {
    return (long) ranks * shardBytes;
  }
}
