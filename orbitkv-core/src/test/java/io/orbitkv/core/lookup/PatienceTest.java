package io.orbitkv.core.lookup;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PatienceTest {

  private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 1_000_000);
  private final Patience patience = new Patience(now::get);

  /** Waits as long as it may, at most so long. Returns how long. */
  private long waits(long nanos) {
    long waited = Math.min(nanos, patience.left());
    now.addAndGet(waited);
    patience.waited();
    return waited;
  }

  @Test
  void oneWait_isBounded() {
    assertThat(waits(Long.MAX_VALUE)).isEqualTo(Patience.ONCE_NANOS);
  }

  @Test
  void waitsInARow_areBoundedTogether() {
    long all = 0;
    for (int i = 0; i < 100; i++) {
      all += waits(Long.MAX_VALUE);
    }
    assertThat(all).isEqualTo(Patience.MOST_NANOS);
    assertThat(patience.left()).isZero();
  }

  @Test
  void allowanceGrows_withAQuarterOfTheTime() {
    waits(Patience.ONCE_NANOS);
    waits(Patience.ONCE_NANOS);
    now.addAndGet(4_000_000);
    assertThat(patience.left()).isEqualTo(1_000_000);
    now.addAndGet(4_000_000);
    assertThat(patience.left()).isEqualTo(2_000_000);
    assertThat(waits(1_500_000)).isEqualTo(1_500_000);
    assertThat(patience.left()).isEqualTo(500_000);
  }

  @Test
  void allowance_doesNotGrowWithoutEnd() {
    now.addAndGet(Long.MAX_VALUE / 2);
    waits(Patience.ONCE_NANOS);
    waits(Patience.ONCE_NANOS);
    assertThat(patience.left()).isZero();
  }

  @Test
  void waitThatTookLongerThanItMight_isPaidForLater() {
    patience.left();
    now.addAndGet(3 * Patience.MOST_NANOS);
    patience.waited();
    assertThat(patience.left()).isZero();
    now.addAndGet(8 * Patience.MOST_NANOS);
    assertThat(patience.left()).isZero();
    now.addAndGet(Patience.MOST_NANOS);
    assertThat(patience.left()).isEqualTo(Patience.MOST_NANOS / 4);
  }
}
