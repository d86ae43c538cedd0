package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * What is copied of a block in one go: a run of bytes that lies in one piece both in the engine's pool and in a shard.
 *
 * @param poolBase where page 0 has it in the pool
 * @param pageStride bytes to where the next page has it
 * @param shardAt where a shard has it
 * @param bytes its length
 */
record Stripe(long poolBase, long pageStride, int shardAt, int bytes) {

  /**
   * Layers that lie one behind another are one stripe unless a layer is as large as this: then a layer of all blocks
   * can arrive before the next one, at the price of one call a layer, which at this size is lost in the copy itself.
   */
  private static final int LAYER_BYTES = 32 << 10;

  /** Returns the stripes of a pool, in the order of its layers and of its shards. */
  static List<Stripe> of(PoolLayout layout) {
    List<Stripe> stripes = new ArrayList<>();
    int shardAt = 0;
    for (PageLayout group : layout.groups()) {
      int layersAtOnce = layersAtOnce(group);
      int bytes = layersAtOnce * group.pageBytes();
      for (int layer = 0; layer < group.layers(); layer += layersAtOnce, shardAt += bytes) {
        stripes.add(new Stripe(group.offset(layer, 0), group.pageStride(), shardAt, bytes));
      }
    }
    return stripes;
  }

  /** Returns for each layer of a pool the index of the stripe that holds it. */
  static int[] ofLayers(PoolLayout layout) {
    int[] stripes = new int[layout.layers()];
    int layer = 0;
    int stripe = 0;
    for (PageLayout group : layout.groups()) {
      int layersAtOnce = layersAtOnce(group);
      for (int i = 0; i < group.layers(); i++) {
        stripes[layer++] = stripe + i / layersAtOnce;
      }
      stripe += group.layers() / layersAtOnce;
    }
    return stripes;
  }

  private static int layersAtOnce(PageLayout group) {
    return group.contiguous() && group.pageBytes() < LAYER_BYTES ? group.layers() : 1;
  }

  long poolAt(int page) {
    return poolBase + page * pageStride;
  }
}
