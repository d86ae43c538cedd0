package io.orbitkv.api.spi;

/**
 * Copies under way. Enqueued, layer ready and drained are different facts: none stands for another, and memory may be
 * used again after drained only.
 */
public interface Transfer {

  /** Returns whether every copy was handed to the device. */
  boolean enqueued();

  /**
   * Returns whether the given layer of every block has arrived.
   *
   * @param layer 0 to layers - 1
   */
  boolean layerReady(int layer);

  /** Returns whether no copy of this transfer runs any more. */
  boolean drained();

  /** Waits until it is drained. */
  void awaitDrained();

  /**
   * Returns the CRC-32C of a saved shard, once drained.
   *
   * @param index which of the shards
   * @throws IllegalStateException before it is drained, or for a restore
   */
  int checksum(int index);
}
