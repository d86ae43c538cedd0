package io.orbitkv.api;

import java.lang.foreign.MemorySegment;

/**
 * Room in memory for one rank's shards of some blocks, which nobody can see before they are committed. The holder
 * copies, waits until its copies are complete, and then commits or aborts; nothing else ends a grant.
 *
 * <p>Used by one thread at a time.
 */
public interface SaveGrant extends AutoCloseable {

  /** Returns the index in the chain of the first block that was asked for. */
  int firstBlock();

  /** Returns how many blocks were asked for. */
  int blocks();

  /**
   * Returns whether the cache wants this block's shard: false if it is stored already, being saved by someone else, or
   * refused for want of room.
   *
   * @param block index in the chain, {@link #firstBlock()} and up
   */
  boolean wants(int block);

  /** Returns how many blocks the cache wants. */
  int wanted();

  /** Returns how many of the blocks asked for are stored already, for everybody to find. */
  int stored();

  /**
   * Returns the room for a wanted block's shard, writable until the grant ends.
   *
   * @param block index in the chain
   * @throws RefusedException if the block is not wanted
   */
  MemorySegment shard(int block);

  /**
   * States that a wanted block's shard is completely copied, with the CRC-32C of its bytes.
   *
   * @param block index in the chain
   * @param crc32c checksum of exactly the shard's bytes, computed from the source
   */
  void copied(int block, int crc32c);

  /**
   * Ends the grant: the blocks stated as {@link #copied copied} count as committed by this rank, the others as aborted.
   * A block becomes visible when every rank has committed its shard. Success means copied and queued, not durable.
   *
   * @return how many blocks this rank committed
   */
  int commit();

  /** Ends the grant; no copy of the holder runs any more. Without a {@link #commit()} before, everything is aborted. */
  @Override
  void close();
}
