package io.orbitkv.backend.dram.residency;

import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;

/** Caffeine's W-TinyLFU over the blocks that can leave: the baseline for policies that count uses. */
public final class TinyLfuPolicy implements ResidencyPolicy {

  /** Has no effect. */
  public TinyLfuPolicy() {}

  @Override
  public String name() {
    return "tinylfu";
  }

  @Override
  public EvictionOrder open(PolicyOptions options) {
    LruPolicy.requireNoSettings(name(), options);
    return new TinyLfuOrder(options.capacityBlocks());
  }
}
