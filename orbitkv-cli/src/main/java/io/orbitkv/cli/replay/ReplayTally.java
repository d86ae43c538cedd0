package io.orbitkv.cli.replay;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.spi.RecoveryReport;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/** Counts a replay as it runs. Used by one thread. */
final class ReplayTally implements Tally {

  /** Wrong pages that are told one by one; the rest are only counted. */
  private static final int WRONG_PAGES_TOLD = 10;

  private static final long LONGEST_NANOS = 3_600_000_000_000L;

  private final Consumer<String> notes;
  private final Histogram lookups = new Histogram(LONGEST_NANOS, 3);
  private final Histogram ssdWaits = new Histogram(LONGEST_NANOS, 3);
  private final List<ReplayReport.Phase> phases = new ArrayList<>();
  private final Map<MissReason, Long> missed = new EnumMap<>(MissReason.class);
  private final Map<String, Long> faults = new TreeMap<>();
  private final Map<String, Long> recoveryDropped = new TreeMap<>();
  private int phaseStart;
  private long queried;
  private long hitDram;
  private long hitSsd;
  private long blocksSaved;
  private long bytesRestored;
  private long restoreNanos;
  private long bytesSaved;
  private long saveNanos;
  private long hitsLost;
  private long blocksLost;
  private long wrongPages;
  private long recoveredExtents;
  private long phaseRecovered;

  /** @param notes told of the first wrong pages */
  ReplayTally(Consumer<String> notes) {
    this.notes = notes;
  }

  void cacheOpened(int request, Optional<RecoveryReport> recovery) {
    phaseStart = request;
    queried = 0;
    hitDram = 0;
    hitSsd = 0;
    phaseRecovered = recovery.map(RecoveryReport::extents).orElse(0L);
    recoveredExtents += phaseRecovered;
    recovery.ifPresent(report -> report.dropped().forEach((why, n) -> recoveryDropped.merge(why, n, Long::sum)));
  }

  void cacheClosing(int request, CacheStats stats) {
    blocksSaved += stats.blocksSaved();
    stats.missed().forEach((reason, blocks) -> missed.merge(reason, blocks, Long::sum));
    stats.faults().forEach((name, count) -> faults.merge(name, count, Long::sum));
    phases.add(new ReplayReport.Phase(request - phaseStart, queried, hitDram, hitSsd, phaseRecovered));
  }

  @Override
  public void served(int blocks, int fromDram, int fromSsd) {
    queried += blocks;
    hitDram += fromDram;
    hitSsd += fromSsd;
  }

  @Override
  public void lookup(long nanos) {
    lookups.recordValue(Math.min(nanos, LONGEST_NANOS));
  }

  @Override
  public void ssdWait(long nanos) {
    ssdWaits.recordValue(Math.min(nanos, LONGEST_NANOS));
  }

  @Override
  public void restored(long bytes, long nanos) {
    bytesRestored += bytes;
    restoreNanos += nanos;
  }

  @Override
  public void saved(long bytes, long nanos) {
    bytesSaved += bytes;
    saveNanos += nanos;
  }

  @Override
  public void lost(int blocks) {
    hitsLost++;
    blocksLost += blocks;
    notes.accept("a hit of " + blocks + " blocks was lost before it was restored: its cache went; they are computed");
  }

  @Override
  public void wrongPage(int request, int block, int rank, int layer) {
    if (++wrongPages <= WRONG_PAGES_TOLD) {
      notes.accept(
          "wrong bytes: request " + (request + 1) + ", block " + block + ", rank " + rank + ", layer " + layer);
    }
  }

  ReplayReport report(ReplayPlan plan, long elapsedNanos) {
    return new ReplayReport(
        plan,
        phases,
        missed,
        blocksSaved,
        bytesRestored,
        hitsLost,
        blocksLost,
        wrongPages,
        bytesSaved,
        gigabytesPerSecond(bytesSaved, saveNanos),
        gigabytesPerSecond(bytesRestored, restoreNanos),
        lookups.getValueAtPercentile(50) / 1e3,
        lookups.getValueAtPercentile(99) / 1e3,
        ssdWaits.getValueAtPercentile(50) / 1e6,
        ssdWaits.getValueAtPercentile(99) / 1e6,
        recoveredExtents,
        recoveryDropped,
        faults,
        elapsedNanos / 1e9);
  }

  private static double gigabytesPerSecond(long bytes, long nanos) {
    return nanos == 0 ? 0 : (double) bytes / nanos;
  }
}
