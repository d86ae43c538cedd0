package io.orbitkv.api.spi;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import java.util.Arrays;
import java.util.Objects;

/**
 * What an extent says about itself: the exact name of its bytes, where they stand in the prefix, and their checksums.
 *
 * @param namespace what the bytes mean
 * @param group the cache group, 0 and up
 * @param key hash of the prefix that ends with this block
 * @param parent hash of the block before it, {@link Digest#ZERO} for a first block
 * @param depth 0 for a first block, else the parent's depth plus 1
 * @param shardBytes bytes of one rank's shard
 * @param shardCrcs CRC-32C of every rank's shard, in rank order; not to be modified
 */
public record ExtentHeader(
    Namespace namespace, int group, Digest key, Digest parent, int depth, int shardBytes, int[] shardCrcs) {

  /** Checks for null. */
  public ExtentHeader {
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(parent, "parent");
  }

  /** Returns the payload's length in bytes. */
  public long payloadBytes() {
    return (long) shardBytes * shardCrcs.length;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ExtentHeader that
        && namespace.equals(that.namespace)
        && group == that.group
        && key.equals(that.key)
        && parent.equals(that.parent)
        && depth == that.depth
        && shardBytes == that.shardBytes
        && Arrays.equals(shardCrcs, that.shardCrcs);
  }

  @Override
  public int hashCode() {
    return Objects.hash(namespace, group, key);
  }

  @Override
  public String toString() {
    return "extent " + key + " of " + namespace + ", depth " + depth + ", " + shardCrcs.length + " x " + shardBytes;
  }
}
