package io.orbitkv.core.manager;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EventTimesTest {

  @Test
  void nothingRecorded_isZero() {
    assertThat(new EventTimes().quantile(0.99)).isZero();
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 7, 8, 9, 15, 16, 1_000, 123_456_789, Long.MAX_VALUE})
  void aValue_isReportedWithinAnEighth(long nanos) {
    EventTimes times = new EventTimes();
    times.record(nanos);
    assertThat(times.quantile(0.99)).isBetween(nanos, nanos > Long.MAX_VALUE / 9 * 8 ? Long.MAX_VALUE : nanos + nanos / 8);
  }

  @Test
  void theQuantile_leavesOutTheRareOnes() {
    EventTimes times = new EventTimes();
    for (int i = 0; i < 990; i++) {
      times.record(100);
    }
    for (int i = 0; i < 10; i++) {
      times.record(1_000_000);
    }
    assertThat(times.events()).isEqualTo(1_000);
    assertThat(times.quantile(0.99)).isBetween(100L, 113L);
    assertThat(times.quantile(0.995)).isBetween(1_000_000L, 1_125_000L);
  }
}
