package io.orbitkv.backend.dram.arena;

import java.util.Arrays;

/**
 * Finds the row of an allocated extent by its first unit: a hash table of row numbers, open addressing with linear
 * probing, at most half full. The keys stay in the rows' own array, which is passed in.
 */
final class ExtentIndex {

  static final int NONE = -1;

  private int[] rows = newTable(64);
  private int used;

  void put(int first, int row, int[] start) {
    if (2 * used >= rows.length) {
      grow(start);
    }
    insert(first, row);
    used++;
  }

  /** Removes a key and returns its row, or {@link #NONE}. */
  int remove(int first, int[] start) {
    int mask = rows.length - 1;
    int slot = home(first, mask);
    while (rows[slot] != NONE && start[rows[slot]] != first) {
      slot = slot + 1 & mask;
    }
    int found = rows[slot];
    if (found == NONE) {
      return NONE;
    }
    used--;
    // Moves later members of the run back, so that no probe ends early at the hole.
    int hole = slot;
    for (int next = slot + 1 & mask; rows[next] != NONE; next = next + 1 & mask) {
      int distanceFromHome = next - home(start[rows[next]], mask) & mask;
      if (distanceFromHome >= (next - hole & mask)) {
        rows[hole] = rows[next];
        hole = next;
      }
    }
    rows[hole] = NONE;
    return found;
  }

  private void insert(int first, int row) {
    int mask = rows.length - 1;
    int slot = home(first, mask);
    while (rows[slot] != NONE) {
      slot = slot + 1 & mask;
    }
    rows[slot] = row;
  }

  private void grow(int[] start) {
    int[] old = rows;
    rows = newTable(Math.multiplyExact(old.length, 2));
    for (int row : old) {
      if (row != NONE) {
        insert(start[row], row);
      }
    }
  }

  /** Extents of one size begin at multiples of it: the multiplication spreads them. */
  private static int home(int first, int mask) {
    int mixed = first * 0x9E3779B9;
    return (mixed ^ mixed >>> 15) & mask;
  }

  private static int[] newTable(int length) {
    int[] table = new int[length];
    Arrays.fill(table, NONE);
    return table;
  }
}
