package io.orbitkv.backend.dram.residency;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;

/** The block whose prefix was used longest ago leaves first. The measure for the other policies. */
public final class LruPolicy implements ResidencyPolicy {

  /** Has no effect. */
  public LruPolicy() {}

  @Override
  public String name() {
    return "lru";
  }

  @Override
  public EvictionOrder open(PolicyOptions options) {
    requireNoSettings(name(), options);
    return new LruOrder();
  }

  static void requireNoSettings(String policy, PolicyOptions options) {
    if (!options.settings().isEmpty()) {
      throw new RefusedException("policy " + policy + " has no settings, found " + options.settings().keySet());
    }
  }
}
