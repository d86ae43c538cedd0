package io.orbitkv.backend.dram.residency;

import java.util.Arrays;

/**
 * The blocks from which return times are measured, in memory or lately out of it. Their choice hangs on their names
 * alone, so what is measured does not depend on which blocks were kept.
 */
final class SampledBlocks {

  static final int NONE = -1;

  /** How many requests apart promises are made anew. 1,024 costs up to 1.2 points on the recorded traces. */
  static final int MEASURE_EVERY = 128;

  private static final int INITIAL = 64;
  private static final long UNUSED = -1;

  private final ReturnTimes times;
  private long[] lastUse = new long[INITIAL];
  private int[] uses = new int[INITIAL];
  private boolean[] extended = new boolean[INITIAL];
  private int[] spare = new int[INITIAL];
  private int spares;
  private int count;

  SampledBlocks(ReturnTimes times) {
    this.times = times;
  }

  /**
   * Begins to watch a block.
   *
   * @param now the number of the request that brought it
   * @return its number here
   */
  int open(long now) {
    if (spares == 0 && count == lastUse.length) {
      int length = Math.multiplyExact(count, 2);
      lastUse = Arrays.copyOf(lastUse, length);
      uses = Arrays.copyOf(uses, length);
      extended = Arrays.copyOf(extended, length);
      spare = Arrays.copyOf(spare, length);
    }
    int number = spares > 0 ? spare[--spares] : count++;
    lastUse[number] = now;
    uses[number] = 0;
    extended[number] = false;
    return number;
  }

  /** Notes that the block has a successor. */
  void extended(int number) {
    if (number != NONE) {
      extended[number] = true;
    }
  }

  /** Notes that the block came back. */
  void used(int number, long now) {
    if (number != NONE) {
      times.returned(classOf(number), now - lastUse[number]);
      uses[number]++;
      lastUse[number] = now;
    }
  }

  /** Ends the watch: whether it will come back stays unknown. */
  void close(int number, long now) {
    if (number != NONE) {
      times.lost(classOf(number), now - lastUse[number]);
      lastUse[number] = UNUSED;
      spare[spares++] = number;
    }
  }

  /** Makes the promises anew from what was noted and from those that still wait. */
  void measure(long now) {
    times.beginMeasure();
    for (int number = 0; number < count; number++) {
      if (lastUse[number] != UNUSED) {
        times.waiting(classOf(number), now - lastUse[number]);
      }
    }
    times.endMeasure();
  }

  private int classOf(int number) {
    return ReturnTimes.classOf(uses[number], extended[number]);
  }
}
