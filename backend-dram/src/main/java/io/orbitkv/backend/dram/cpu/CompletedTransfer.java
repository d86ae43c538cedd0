package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.spi.Transfer;
import java.util.Objects;

/**
 * A transfer that ended before it was returned.
 *
 * @param layers layers of the pages
 * @param checksums CRC-32C a shard, or null for a restore
 */
record CompletedTransfer(int layers, int[] checksums) implements Transfer {

  @Override
  public boolean enqueued() {
    return true;
  }

  @Override
  public boolean layerReady(int layer) {
    Objects.checkIndex(layer, layers);
    return true;
  }

  @Override
  public boolean drained() {
    return true;
  }

  @Override
  public void awaitDrained() {}

  @Override
  public int checksum(int index) {
    if (checksums == null) {
      throw new IllegalStateException("a restore has no checksums");
    }
    return checksums[index];
  }
}
