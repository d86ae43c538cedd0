package io.orbitkv.core.manager;

/**
 * How long events took, in buckets whose bounds are an eighth apart. Used in turns only, so by one thread at a time:
 * counting an event costs one addition.
 */
final class EventTimes {

  private static final int STEP_BITS = 3;
  private static final int STEPS = 1 << STEP_BITS;

  private final long[] counts = new long[(Long.SIZE - STEP_BITS) * STEPS];
  private long events;

  void record(long nanos) {
    counts[bucket(Math.max(0, nanos))]++;
    events++;
  }

  long events() {
    return events;
  }

  /** Returns the upper bound of the bucket that a share of all events, 0 to 1, does not go beyond; zero before the first. */
  long quantile(double share) {
    long rank = (long) Math.ceil(events * share);
    long seen = 0;
    for (int bucket = 0; bucket < counts.length; bucket++) {
      seen += counts[bucket];
      if (seen >= rank && seen > 0) {
        return upperBound(bucket);
      }
    }
    return 0;
  }

  /** The first buckets hold one value each; from then on the leading bits of a value name its bucket. */
  private static int bucket(long nanos) {
    if (nanos < STEPS) {
      return (int) nanos;
    }
    int shift = Long.SIZE - 1 - Long.numberOfLeadingZeros(nanos) - STEP_BITS;
    return (shift + 1) * STEPS + (int) (nanos >>> shift) - STEPS;
  }

  private static long upperBound(int bucket) {
    if (bucket < STEPS) {
      return bucket;
    }
    int shift = bucket / STEPS - 1;
    return ((long) (bucket % STEPS + STEPS) + 1 << shift) - 1;
  }
}
