package io.orbitkv.cli.replay;

import io.orbitkv.api.MissReason;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/**
 * What a replay counted.
 *
 * @param plan what was replayed
 * @param phases one for each cache, from one restart to the next
 * @param missed blocks that were not served, by the reason that the caches count them under
 * @param blocksSaved blocks that became visible
 * @param bytesVerified restored bytes, all of which were checked
 * @param hitsLost hits that ended before every rank had taken its share, as when a Manager dies; they were computed
 * @param blocksLost their blocks
 * @param mismatches pages (one layer of one rank's shard of a block) with a wrong byte
 * @param bytesSaved bytes committed
 * @param saveGigabytesPerSecond bytes committed over the time spent in reserving, copying, checksums and committing
 * @param restoreGigabytesPerSecond bytes restored over the time spent in taking shares and copying
 * @param lookupMicrosP50 median time of a query and its first answer
 * @param lookupMicrosP99 99th percentile of it
 * @param ssdWaitMillisP50 median time that queries with blocks on the SSD waited after their first answer
 * @param ssdWaitMillisP99 99th percentile of it
 * @param recoveredExtents extents that recoveries found, over all starts
 * @param recoveryDropped extents or segments that recoveries did not trust, by reason
 * @param faults counted events of the caches, by name
 * @param seconds how long all took
 */
public record ReplayReport(
    ReplayPlan plan,
    List<Phase> phases,
    Map<MissReason, Long> missed,
    long blocksSaved,
    long bytesVerified,
    long hitsLost,
    long blocksLost,
    long mismatches,
    long bytesSaved,
    double saveGigabytesPerSecond,
    double restoreGigabytesPerSecond,
    double lookupMicrosP50,
    double lookupMicrosP99,
    double ssdWaitMillisP50,
    double ssdWaitMillisP99,
    long recoveredExtents,
    Map<String, Long> recoveryDropped,
    Map<String, Long> faults,
    double seconds) {

  /** Copies the collections; the maps are in the order of their names. */
  public ReplayReport {
    phases = List.copyOf(phases);
    missed = new TreeMap<>(missed);
    recoveryDropped = new TreeMap<>(recoveryDropped);
    faults = new TreeMap<>(faults);
  }

  /**
   * The part of a replay that one cache served.
   *
   * @param requests prompts served
   * @param blocksQueried their blocks
   * @param blocksHitDram leading blocks served from memory
   * @param blocksHitSsd leading blocks read from the SSD
   * @param recoveredExtents extents that the cache found at its start
   */
  public record Phase(
      long requests, long blocksQueried, long blocksHitDram, long blocksHitSsd, long recoveredExtents) {

    /** Returns the share of the blocks that were served. */
    public double hitRate() {
      return rate(blocksHitDram + blocksHitSsd, blocksQueried);
    }
  }

  /** Returns the prompts served. */
  public long requests() {
    return sum(Phase::requests);
  }

  /** Returns the blocks of all prompts. */
  public long blocksQueried() {
    return sum(Phase::blocksQueried);
  }

  /** Returns the leading blocks served from memory. */
  public long blocksHitDram() {
    return sum(Phase::blocksHitDram);
  }

  /** Returns the leading blocks read from the SSD. */
  public long blocksHitSsd() {
    return sum(Phase::blocksHitSsd);
  }

  /** Returns the share of all blocks that were served. */
  public double hitRate() {
    return rate(blocksHitDram() + blocksHitSsd(), blocksQueried());
  }

  /** Returns how often the cache was closed and opened again. */
  public int restarts() {
    return phases.size() - 1;
  }

  private long sum(ToLongFunction<Phase> figure) {
    return phases.stream().mapToLong(figure).sum();
  }

  private static double rate(long hits, long queried) {
    return queried == 0 ? 0 : (double) hits / queried;
  }
}
