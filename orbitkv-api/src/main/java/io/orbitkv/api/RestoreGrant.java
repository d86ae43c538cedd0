package io.orbitkv.api;

import java.lang.foreign.MemorySegment;

/**
 * One rank's right to read its shards of a leased prefix. Once granted only the holder ends it: a timeout, a cancelled
 * request or an expired lease does not.
 *
 * <p>Used by one thread at a time.
 */
public interface RestoreGrant extends AutoCloseable {

  /** Returns how many leading blocks may be read. */
  int blocks();

  /**
   * Returns a block's shard, read-only, valid until the grant is drained.
   *
   * @param block 0 to {@link #blocks()} - 1
   */
  MemorySegment shard(int block);

  /** States that every copy is submitted; none of them need be complete. */
  void enqueued();

  /**
   * States that every copy of the holder is complete and none will follow. The source is released by this and by
   * nothing else. Idempotent.
   */
  void drained();

  /** Same as {@link #drained()}: for holders whose copies are synchronous. */
  @Override
  default void close() {
    drained();
  }
}
