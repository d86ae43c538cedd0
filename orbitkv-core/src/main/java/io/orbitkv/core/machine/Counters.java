package io.orbitkv.core.machine;

import io.orbitkv.api.MissReason;
import java.util.LinkedHashMap;
import java.util.Map;

/** Counts since the cache was opened. Every final hit or miss is counted once, in blocks and their tokens. */
final class Counters {

  private final long[] faults = new long[Fault.values().length];
  private final long[] missed = new long[MissReason.values().length];
  private long queries;
  private long blocksQueried;
  private long blocksHitDram;
  private long blocksHitSsd;
  private long blocksSaved;
  private long tokensQueried;
  private long tokensHitDram;
  private long tokensHitSsd;
  private long bytesSaved;
  private long bytesRestored;

  void fault(Fault fault) {
    faults[fault.ordinal()]++;
  }

  void faults(Fault fault, long count) {
    faults[fault.ordinal()] += count;
  }

  /**
   * A query has its final answer.
   *
   * @param blockTokens tokens of one of its blocks
   */
  void answered(long blockTokens, int asked, int dram, int ssd, MissReason ending) {
    queries++;
    blocksQueried += asked;
    blocksHitDram += dram;
    blocksHitSsd += ssd;
    tokensQueried += blockTokens * asked;
    tokensHitDram += blockTokens * dram;
    tokensHitSsd += blockTokens * ssd;
    missed[ending.ordinal()] += asked - dram - ssd;
  }

  /** The last shard of a block was committed. */
  void saved() {
    blocksSaved++;
  }

  void shardsSaved(long shards, int shardBytes) {
    bytesSaved += shards * shardBytes;
  }

  void shardsRestored(long shards, int shardBytes) {
    bytesRestored += shards * shardBytes;
  }

  long queries() {
    return queries;
  }

  long blocksQueried() {
    return blocksQueried;
  }

  long blocksHitDram() {
    return blocksHitDram;
  }

  long blocksHitSsd() {
    return blocksHitSsd;
  }

  long blocksMissed() {
    return blocksQueried - blocksHitDram - blocksHitSsd;
  }

  long blocksSaved() {
    return blocksSaved;
  }

  long tokensQueried() {
    return tokensQueried;
  }

  long tokensHitDram() {
    return tokensHitDram;
  }

  long tokensHitSsd() {
    return tokensHitSsd;
  }

  long bytesSaved() {
    return bytesSaved;
  }

  long bytesRestored() {
    return bytesRestored;
  }

  long count(Fault fault) {
    return faults[fault.ordinal()];
  }

  Map<String, Long> faults() {
    Map<String, Long> counts = new LinkedHashMap<>();
    for (Fault fault : Fault.values()) {
      if (faults[fault.ordinal()] != 0) {
        counts.put(fault.label(), faults[fault.ordinal()]);
      }
    }
    return counts;
  }

  Map<MissReason, Long> missed() {
    Map<MissReason, Long> counts = new LinkedHashMap<>();
    for (MissReason reason : MissReason.values()) {
      if (missed[reason.ordinal()] != 0) {
        counts.put(reason, missed[reason.ordinal()]);
      }
    }
    return counts;
  }
}
