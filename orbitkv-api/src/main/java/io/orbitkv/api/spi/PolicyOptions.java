package io.orbitkv.api.spi;

import io.orbitkv.api.RefusedException;
import java.util.Map;

/**
 * The frame of an eviction order.
 *
 * @param capacityBlocks about how many blocks fit in memory; an estimate for sizing histories, never a limit
 * @param seed for any random choice, so that a run can be repeated
 * @param settings settings of the policy, by name; an unknown name is refused by it
 */
public record PolicyOptions(long capacityBlocks, long seed, Map<String, String> settings) {

  /** Copies the settings and checks the size. */
  public PolicyOptions {
    settings = Map.copyOf(settings);
    if (capacityBlocks < 1) {
      throw new RefusedException("policy capacity is " + capacityBlocks + " blocks, expected at least 1");
    }
  }
}
