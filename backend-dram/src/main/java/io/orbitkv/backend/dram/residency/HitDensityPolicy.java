package io.orbitkv.backend.dram.residency;

import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;

/**
 * The block that promises the fewest hits for the room and the time it takes leaves first. What blocks promise is
 * measured from the workload itself: after how many requests blocks come back, by how often they came back before.
 */
public final class HitDensityPolicy implements ResidencyPolicy {

  /** Has no effect. */
  public HitDensityPolicy() {}

  @Override
  public String name() {
    return "hit-density";
  }

  @Override
  public EvictionOrder open(PolicyOptions options) {
    LruPolicy.requireNoSettings(name(), options);
    return new HitDensityOrder(options.capacityBlocks());
  }
}
