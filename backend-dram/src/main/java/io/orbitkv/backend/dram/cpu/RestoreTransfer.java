package io.orbitkv.backend.dram.cpu;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Shards to pages, stripe by stripe, so that the first layers of all blocks are there first: an engine can begin with
 * them. A portion is some blocks of one stripe.
 */
final class RestoreTransfer extends CpuTransfer {

  private final int[] firstPortion;
  private final int[] blocksAtOnce;
  private final AtomicIntegerArray left;

  private RestoreTransfer(HostPages pages, int[] pageIds, MemorySegment[] shards, int[] firstPortion,
      int[] blocksAtOnce) {
    super(pages, pageIds, shards, firstPortion[firstPortion.length - 1]);
    this.firstPortion = firstPortion;
    this.blocksAtOnce = blocksAtOnce;
    this.left = new AtomicIntegerArray(blocksAtOnce.length);
    for (int i = 0; i < blocksAtOnce.length; i++) {
      left.set(i, firstPortion[i + 1] - firstPortion[i]);
    }
  }

  static RestoreTransfer of(HostPages pages, int[] pageIds, MemorySegment[] shards) {
    List<Stripe> stripes = pages.stripes();
    int[] firstPortion = new int[stripes.size() + 1];
    int[] blocksAtOnce = new int[stripes.size()];
    for (int i = 0; i < blocksAtOnce.length; i++) {
      blocksAtOnce[i] = Math.max(1, PORTION_BYTES / stripes.get(i).bytes());
      firstPortion[i + 1] = firstPortion[i] + Math.ceilDiv(pageIds.length, blocksAtOnce[i]);
    }
    return new RestoreTransfer(pages, pageIds, shards, firstPortion, blocksAtOnce);
  }

  @Override
  void copy(int portion) {
    int index = stripeOf(portion);
    Stripe stripe = pages.stripes().get(index);
    int from = (portion - firstPortion[index]) * blocksAtOnce[index];
    int to = Math.min(from + blocksAtOnce[index], pageIds.length);
    for (int block = from; block < to; block++) {
      MemorySegment.copy(shards[block], stripe.shardAt(), pool, stripe.poolAt(pageIds[block]), stripe.bytes());
    }
    // Publishes the bytes to whoever sees the layer ready.
    left.decrementAndGet(index);
  }

  private int stripeOf(int portion) {
    int low = 0;
    int high = blocksAtOnce.length - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (firstPortion[middle] <= portion) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  @Override
  public boolean layerReady(int layer) {
    Objects.checkIndex(layer, pages.layout().layers());
    return left.get(pages.stripeOfLayer(layer)) == 0;
  }

  @Override
  public int checksum(int index) {
    throw new IllegalStateException("a restore has no checksums");
  }
}
