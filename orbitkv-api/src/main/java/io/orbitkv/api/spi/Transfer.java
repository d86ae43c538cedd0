package io.orbitkv.api.spi;

import java.util.Optional;

/**
 * Copies under way. Enqueued, layer ready and drained are different facts: none stands for another, and memory may be
 * used again after drained only. Thread-safe.
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

  /** Returns whether no copy of this transfer runs any more, and none will. */
  boolean drained();

  /** Waits until it is drained. An interrupt is kept for later: it is no proof of drain. */
  void awaitDrained();

  /** Returns, once drained, why a copy failed, if one did: then nothing that was written is to be used. */
  default Optional<Throwable> failure() {
    return Optional.empty();
  }

  /**
   * Returns the CRC-32C of a saved shard, once drained.
   *
   * @param index which of the shards
   * @throws IllegalStateException before it is drained, if it failed, or for a restore
   */
  int checksum(int index);
}
