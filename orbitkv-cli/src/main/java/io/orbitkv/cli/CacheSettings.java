package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.core.Backends;
import io.orbitkv.core.EmbeddedCache;
import java.util.Optional;

/**
 * How a command wants its cache. What is left out is the cache's own default.
 *
 * @param dram memory for blocks
 * @param ssd the SSD tier
 * @param memory name of the memory provider
 * @param storage name of the storage backend
 * @param policy name of the residency policy
 * @param seed for the policy's random choices
 */
record CacheSettings(
    ByteSize dram,
    Optional<SsdTier> ssd,
    Optional<String> memory,
    Optional<String> storage,
    Optional<String> policy,
    long seed) {

  /** Returns the opener of an embedded cache of these settings, over the given backends. */
  CacheOpener opener(Backends backends) {
    return () -> {
      EmbeddedCache.Builder builder = EmbeddedCache.builder().backends(backends).dram(dram).seed(seed);
      memory.ifPresent(builder::memory);
      policy.ifPresent(builder::policy);
      storage.ifPresent(builder::storage);
      ssd.ifPresent(tier -> builder.ssd(tier.directory(), tier.capacity()));
      EmbeddedCache cache = builder.open();
      return new CacheOpener.Opened(cache, cache.recovery());
    };
  }
}
