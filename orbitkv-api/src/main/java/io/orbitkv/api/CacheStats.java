package io.orbitkv.api;

import java.util.Map;

/**
 * Counters since the cache was opened and sizes at one moment. Blocks asked for are counted once each, so
 * {@code blocksHitDram + blocksHitSsd + blocksMissed == blocksQueried} always.
 *
 * @param queries final answers that were a hit or a miss
 * @param blocksQueried blocks of the chains of those queries
 * @param blocksHitDram leading blocks served that were in memory
 * @param blocksHitSsd leading blocks served that were read from the SSD
 * @param blocksMissed the rest
 * @param missed blocks missed by reason
 * @param blocksSaved blocks of which every rank committed its shard
 * @param tokensQueried tokens of the blocks of those queries; sessions that state no tokens a block count none
 * @param tokensHitDram tokens of the leading blocks served that were in memory
 * @param tokensHitSsd tokens of the leading blocks served that were read from the SSD
 * @param bytesSaved bytes of the shards that ranks committed
 * @param bytesRestored bytes of the shards of the restores that were drained
 * @param blocksDram blocks in memory now
 * @param blocksSsd blocks on the SSD now
 * @param dramBytes bytes of memory in use now
 * @param dramCapacityBytes bytes of memory taken
 * @param ssdBytes live bytes on the SSD now
 * @param ssdCapacityBytes bytes of the SSD taken
 * @param leasedBytes bytes charged to leases and pending reads now
 * @param quarantinedBytes bytes of memory that nothing proves unused
 * @param faults counted events that an operator should know of, by name, as {@code ssd_read_corrupt}
 * @param ssdHealth "none", "healthy", "read-only" or "off"
 */
public record CacheStats(
    long queries,
    long blocksQueried,
    long blocksHitDram,
    long blocksHitSsd,
    long blocksMissed,
    Map<MissReason, Long> missed,
    long blocksSaved,
    long tokensQueried,
    long tokensHitDram,
    long tokensHitSsd,
    long bytesSaved,
    long bytesRestored,
    long blocksDram,
    long blocksSsd,
    long dramBytes,
    long dramCapacityBytes,
    long ssdBytes,
    long ssdCapacityBytes,
    long leasedBytes,
    long quarantinedBytes,
    Map<String, Long> faults,
    String ssdHealth) {

  /** Copies the maps. */
  public CacheStats {
    missed = Map.copyOf(missed);
    faults = Map.copyOf(faults);
  }
}
