package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.core.Backends;
import io.orbitkv.core.CacheBuilder;
import io.orbitkv.core.EmbeddedCache;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.node.ObjectNode;

/**
 * How a command wants its cache. What is left out is the cache's own default.
 *
 * @param dram memory for blocks
 * @param block bytes of a block over all ranks
 * @param ssd the SSD tier
 * @param memory name of the memory provider
 * @param storage name of the storage backend
 * @param storageSettings settings of that backend
 * @param policy name of the residency policy
 * @param seed for the policy's random choices
 */
record CacheSettings(
    ByteSize dram,
    ByteSize block,
    Optional<SsdTier> ssd,
    Optional<String> memory,
    Optional<String> storage,
    Map<String, String> storageSettings,
    Optional<String> policy,
    long seed) implements CacheUnderReplay {

  private static final Duration MEMORY_STALLED = Duration.ofSeconds(10);

  /** Copies the map. */
  CacheSettings {
    storageSettings = Map.copyOf(storageSettings);
  }

  /** Returns the opener of an embedded cache of these settings, over the given backends. */
  CacheOpener opener(Backends backends) {
    return () -> {
      EmbeddedCache cache = configure(EmbeddedCache.builder(), backends).open();
      awaitMemory(cache);
      return new CacheOpener.Opened(cache, cache.recovery());
    };
  }

  /** Passes these settings to the builder of any form of a cache, and returns it. */
  <B extends CacheBuilder<B>> B configure(B builder, Backends backends) {
    builder.backends(backends).dram(dram).expectedBlock(block).seed(seed);
    memory.ifPresent(builder::memory);
    policy.ifPresent(builder::policy);
    storage.ifPresent(builder::storage);
    storageSettings.forEach(builder::storageSetting);
    ssd.ifPresent(tier -> builder.ssd(tier.directory(), tier.capacity()));
    return builder;
  }

  @Override
  public String describe() {
    String tiers = dram + " DRAM"
        + ssd.map(tier -> ", " + tier.capacity() + " SSD in " + tier.directory()).orElse(", no SSD");
    return tiers
        + policy.map(name -> ", policy " + name).orElse("")
        + memory.map(name -> ", memory " + name).orElse("")
        + storage.map(name -> ", storage " + name).orElse("");
  }

  @Override
  public void describe(ObjectNode settings) {
    settings
        .put("dram_bytes", dram.bytes())
        .put("ssd_bytes", ssd.map(tier -> tier.capacity().bytes()).orElse(0L))
        .put("memory", memory.orElse("default"))
        .put("storage", storage.orElse("default"))
        .put("policy", policy.orElse("default"))
        .put("seed", seed);
  }

  /**
   * A cache serves while its memory is still being taken, and has less room then. A run that is to be repeated or timed
   * starts when all is there, or when no more comes.
   */
  private void awaitMemory(Cache cache) throws InterruptedException {
    long wanted = dram.bytes() / MemoryPool.ALIGNMENT * MemoryPool.ALIGNMENT;
    long taken = cache.stats().dramCapacityBytes();
    long lastChange = System.nanoTime();
    while (taken < wanted && System.nanoTime() - lastChange < MEMORY_STALLED.toNanos()) {
      Thread.sleep(5);
      long now = cache.stats().dramCapacityBytes();
      if (now != taken) {
        taken = now;
        lastChange = System.nanoTime();
      }
    }
  }
}
