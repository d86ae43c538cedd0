package io.orbitkv.api.spi;

import java.util.Map;

/**
 * What recovery found.
 *
 * @param extents how many extents were handed over
 * @param segmentsSealed segments read from their summary
 * @param segmentsScanned segments that had to be scanned
 * @param dropped extents or segments not handed over, by reason, as "torn-extent" or "damaged-summary"
 * @param nanos how long it took
 */
public record RecoveryReport(
    long extents, int segmentsSealed, int segmentsScanned, Map<String, Long> dropped, long nanos) {

  /** Copies the map. */
  public RecoveryReport {
    dropped = Map.copyOf(dropped);
  }
}
