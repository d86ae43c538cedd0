package io.orbitkv.backend.dram.residency;

import java.util.Arrays;

/**
 * How soon blocks of each class come back, and what a block of some age therefore promises.
 *
 * <p>For every class the chance to come back is measured by age, in the way of a life table: of all blocks that
 * reached an age, how many came back at it; blocks that still wait, or were lost from sight, count for the ages they
 * reached. A block's <em>promise</em> is the best ratio, over all times it might be kept, of the chance that it comes
 * back by then to the time it is expected to stay: hits for a unit of room and time, as good as they can be had from
 * it (its Gittins index). On the curve of chance against expected stay it is the steepest line from the block's age
 * to any later point, so a pass from the oldest age down over the upper hull of the curve finds the promises of all
 * ages.
 */
final class ReturnTimes {

  /** Classes: came back 0, 1, 2, 3, 4-7, 8-15, 16 or more times; and never came back nor had a successor. */
  static final int CLASSES = 8;

  private static final int CLASS_OF_MANY = 6;
  private static final int CLASS_OF_ENDS = 7;

  // Ages in requests, 4 intervals to a power of two up to 2^24. (2 or 8 move the hit rates of the
  // recorded traces by up to 0.8 points either way, without a pattern.)
  private static final int INTERVAL_BITS = 2;
  private static final int INTERVALS = 1 << INTERVAL_BITS;
  private static final int AGES = INTERVALS * 24;

  /**
   * A class's own observations count against those of the class below as if that had made this many at each age: a
   * class of which nothing is known yet is taken for the one below, never for worthless. (1 to 16 are within 0.2
   * points.)
   */
  private static final double BORROWED = 4;

  // When so many returns were noted all are halved, so that a changed workload is believed after about as many again.
  // (2^12 to 2^16 are within 0.3 points on the recorded traces.)
  private static final int MEMORY = 1 << 14;

  private final double[][] returned = new double[CLASSES][AGES];
  private final double[][] lost = new double[CLASSES][AGES];
  private final double[][] waiting = new double[CLASSES][AGES];
  private final double[][] hazards = new double[CLASSES][AGES];
  private final double[][] promises = new double[CLASSES][AGES];
  private final double[] nothingKnown = new double[AGES];
  private double noted;

  private final double[] chance = new double[AGES + 1];
  private final double[] stay = new double[AGES + 1];
  private final int[] hull = new int[AGES + 1];

  /**
   * Returns a block's class.
   *
   * @param uses how often it came back
   * @param extended whether it ever had a successor
   */
  static int classOf(int uses, boolean extended) {
    if (uses == 0 && !extended) {
      return CLASS_OF_ENDS;
    }
    return uses < 4 ? uses : Math.min(CLASS_OF_MANY, 33 - Integer.numberOfLeadingZeros(uses));
  }

  /** Notes that a block came back at an age. */
  void returned(int ofClass, long age) {
    returned[ofClass][interval(age)]++;
    noted++;
  }

  /** Notes that a block was lost from sight at an age. */
  void lost(int ofClass, long age) {
    lost[ofClass][interval(age)]++;
  }

  /** Returns the expected hits a request kept, at best, of a block of that class that was used so many requests ago. */
  double promise(int ofClass, long age) {
    return promises[ofClass][interval(age)];
  }

  void beginMeasure() {
    for (double[] ages : waiting) {
      Arrays.fill(ages, 0);
    }
  }

  /** Counts a block that has waited for so long, between begin and end of a measure. */
  void waiting(int ofClass, long age) {
    waiting[ofClass][interval(age)]++;
  }

  void endMeasure() {
    measure(0, nothingKnown);
    for (int ofClass = 1; ofClass <= CLASS_OF_MANY; ofClass++) {
      measure(ofClass, hazards[ofClass - 1]);
    }
    measure(CLASS_OF_ENDS, hazards[0]);
    if (noted > MEMORY) {
      noted /= 2;
      halve(returned);
      halve(lost);
    }
  }

  private void measure(int ofClass, double[] below) {
    double[] hazard = hazards[ofClass];
    double reached = 0;
    for (int age = AGES - 1; age >= 0; age--) {
      double out = lost[ofClass][age] + waiting[ofClass][age];
      reached += out + returned[ofClass][age];
      // Those that went out of sight within the interval were there for half of it.
      double atRisk = reached - out / 2;
      hazard[age] = (returned[ofClass][age] + BORROWED * below[age]) / (atRisk + BORROWED);
    }
    rank(hazard, promises[ofClass]);
  }

  private void rank(double[] hazard, double[] promise) {
    double waits = 1;
    for (int age = 0; age < AGES; age++) {
      double comes = waits * hazard[age];
      chance[age + 1] = chance[age] + comes;
      stay[age + 1] = stay[age] + (waits - comes / 2) * (from(age + 1) - from(age));
      waits -= comes;
    }
    int top = 0;
    hull[0] = AGES;
    for (int age = AGES - 1; age >= 0; age--) {
      while (top > 0 && slope(age, hull[top - 1]) >= slope(age, hull[top])) {
        top--;
      }
      promise[age] = slope(age, hull[top]);
      hull[++top] = age;
    }
  }

  private double slope(int age, int later) {
    double kept = stay[later] - stay[age];
    return kept > 0 ? (chance[later] - chance[age]) / kept : 0;
  }

  private static void halve(double[][] counts) {
    for (double[] ages : counts) {
      for (int age = 0; age < AGES; age++) {
        ages[age] /= 2;
      }
    }
  }

  private static int interval(long age) {
    long known = Math.max(1, age);
    int exponent = 63 - Long.numberOfLeadingZeros(known);
    int part = (int) ((known << INTERVAL_BITS >>> exponent) & INTERVALS - 1);
    return Math.min(AGES - 1, exponent << INTERVAL_BITS | part);
  }

  private static double from(int interval) {
    return (double) (1L << (interval >> INTERVAL_BITS)) * (1 + (interval & INTERVALS - 1) / (double) INTERVALS);
  }
}
