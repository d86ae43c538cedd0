package io.orbitkv.backend.dram.residency;

import java.util.Arrays;

/** One long for every block number, growing with the highest number seen. */
final class LongColumn {

  private static final int INITIAL_ROWS = 64;

  private long[] values = new long[INITIAL_ROWS];

  long get(int block) {
    return values[block];
  }

  void set(int block, long value) {
    if (block >= values.length) {
      values = Arrays.copyOf(values, IntColumn.grown(values.length, block));
    }
    values[block] = value;
  }
}
