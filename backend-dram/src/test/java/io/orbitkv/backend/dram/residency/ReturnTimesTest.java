package io.orbitkv.backend.dram.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class ReturnTimesTest {

  private final ReturnTimes times = new ReturnTimes();

  @Test
  void nothingSeen_promisesNothing() {
    measure();
    assertThat(times.promise(0, 1)).isZero();
    assertThat(times.promise(6, 1 << 30)).isZero();
  }

  @Test
  void blocksThatAllComeBackAtOneAge_promiseMoreTheNearerItIs() {
    for (int i = 0; i < 10_000; i++) {
      times.returned(0, 64);
    }
    measure();
    assertThat(times.promise(0, 1)).isCloseTo(1 / 72.0, within(0.002)); // They come between 64 and 80.
    assertThat(times.promise(0, 32)).isCloseTo(1 / 40.0, within(0.003));
    assertThat(times.promise(0, 100)).isLessThan(1e-4);
  }

  @Test
  void blocksThatNeverCameBack_countForTheAgesTheyReached() {
    for (int i = 0; i < 1_000; i++) {
      times.returned(0, 64);
    }
    times.beginMeasure();
    for (int i = 0; i < 3_000; i++) {
      times.waiting(0, 1000);
      times.lost(1, 1000);
      times.returned(1, i < 1_000 ? 64 : 1000);
    }
    times.endMeasure();
    // One in four comes back at 64 to 80: keep for that long and give up.
    assertThat(times.promise(0, 1)).isCloseTo(0.25 / 78, within(0.0005));
    assertThat(times.promise(0, 200)).isLessThan(1e-4);
  }

  @Test
  void classOfWhichNothingIsKnown_isTakenForTheOneBelow() {
    for (int i = 0; i < 10_000; i++) {
      times.returned(2, 10);
    }
    measure();
    assertThat(times.promise(6, 1)).isCloseTo(times.promise(2, 1), within(1e-9)).isPositive();
    assertThat(times.promise(1, 1)).isZero();
  }

  @Test
  void changedWorkload_isBelievedInTheEnd() {
    for (int i = 0; i < 100_000; i++) {
      times.returned(0, 4);
      if (i % 1_000 == 0) {
        measure();
      }
    }
    double before = times.promise(0, 4);
    for (int i = 0; i < 100_000; i++) {
      times.returned(0, 4_000);
      if (i % 1_000 == 0) {
        measure();
      }
    }
    assertThat(times.promise(0, 4)).isLessThan(before / 20);
  }

  @Test
  void classesAreByReturns_andApartForEndsOfPrompts() {
    assertThat(ReturnTimes.classOf(0, false)).isEqualTo(7);
    int[] uses = {0, 1, 2, 3, 4, 7, 8, 15, 16, 1 << 30};
    int[] classes = {0, 1, 2, 3, 4, 4, 5, 5, 6, 6};
    for (int i = 0; i < uses.length; i++) {
      assertThat(ReturnTimes.classOf(uses[i], true)).as("came back %d times", uses[i]).isEqualTo(classes[i]);
    }
  }

  private void measure() {
    times.beginMeasure();
    times.endMeasure();
  }
}
