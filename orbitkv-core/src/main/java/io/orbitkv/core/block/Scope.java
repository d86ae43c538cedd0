package io.orbitkv.core.block;

import io.orbitkv.api.Namespace;
import io.orbitkv.api.ShardLayout;

/**
 * One cache group of one namespace: the part of a block's name that all blocks of an instance share, so that a row need
 * hold only its number. Together with the 256-bit prefix hash it is the exact name of a block.
 *
 * @param number its number in the core, 0 and up
 * @param namespace what the bytes mean
 * @param group the cache group
 * @param layout how every block of it is divided
 * @param recordBytes bytes that a block takes in memory and on the SSD, header and padding included
 */
public record Scope(int number, Namespace namespace, int group, ShardLayout layout, long recordBytes) {

  @Override
  public String toString() {
    return namespace + "/" + group;
  }
}
