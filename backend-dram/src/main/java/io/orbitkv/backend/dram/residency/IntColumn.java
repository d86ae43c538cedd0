package io.orbitkv.backend.dram.residency;

import java.util.Arrays;

/** One int for every block number, growing with the highest number seen. */
final class IntColumn {

  private static final int INITIAL_ROWS = 64;

  private int[] values = new int[INITIAL_ROWS];

  int get(int block) {
    return values[block];
  }

  void set(int block, int value) {
    if (block >= values.length) {
      values = Arrays.copyOf(values, grown(values.length, block));
    }
    values[block] = value;
  }

  /** Doubles, so that growth costs O(1) a row. */
  static int grown(int length, int block) {
    return Math.max(Math.multiplyExact(length, 2), block + 1);
  }
}
