package io.orbitkv.core.assembly;

import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.core.machine.CoreLimits;
import java.util.Optional;

/**
 * What a cache is made of: chosen providers, with what each is opened with. Nothing is open yet.
 *
 * @param memory where blocks lie
 * @param memoryOptions how much of it
 * @param policy which block leaves memory next
 * @param policyOptions for how many blocks
 * @param ssd the SSD tier, if there is one
 * @param limits bounds and deadlines
 * @param seed makes the distribution of names in tables unpredictable
 */
public record CacheParts(
    HostMemory memory,
    MemoryOptions memoryOptions,
    ResidencyPolicy policy,
    PolicyOptions policyOptions,
    Optional<Ssd> ssd,
    CoreLimits limits,
    long seed) {

  /**
   * The SSD tier.
   *
   * @param backend its provider
   * @param options its folder and size
   */
  public record Ssd(StorageBackend backend, StoreOptions options) {}

  /** Returns the same parts with other bounds. */
  public CacheParts withLimits(CoreLimits chosen) {
    return new CacheParts(memory, memoryOptions, policy, policyOptions, ssd, chosen, seed);
  }
}
