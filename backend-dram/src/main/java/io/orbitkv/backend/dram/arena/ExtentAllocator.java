package io.orbitkv.backend.dram.arena;

import java.util.Arrays;

/**
 * Hands out extents of a range of units that can grow at its end. Used by one thread; the two figures may be read by
 * any.
 *
 * <p>A two-level segregated fit: free extents are kept in lists by size class, 32 classes to a power of two, with a
 * bitmap of the lists that are not empty, so that a fit is found by two bit scans. Neighbouring free extents are joined
 * at once. Everything about an extent is kept in arrays of numbers beside the range, never in it: the range may be
 * memory of a device, and a stray write into it must not be able to break the allocator.
 *
 * <p><b>What is granted.</b> A size is granted whenever a free extent is at least that size rounded up to its class: at
 * most 1/32 larger. Up to {@value #LOOK} extents of the size's own class are looked at first: blocks of one size, the
 * usual case, are so reused exactly, whether or not their size is a class boundary.
 *
 * <p><b>Memory.</b> At most 112 bytes for each of the most extents ever allocated at once: no two free extents touch,
 * so there are at most twice as many rows of 24 bytes, in arrays that growth may double, and 16 bytes of index.
 */
final class ExtentAllocator {

  /** No extent. */
  static final int NONE = -1;

  /** How many extents of a size's own class are looked at. */
  static final int LOOK = 8;

  private static final int SPLIT_BITS = 5;
  private static final int SPLIT = 1 << SPLIT_BITS;
  private static final int LEVELS = 32 - SPLIT_BITS;

  private static final int INITIAL_ROWS = 64;
  // In place of a free-list link: the row is an allocated extent, or none at all.
  private static final int ALLOCATED = -2;

  // One row an extent. Rows not in use are chained through nextFree.
  private int[] start = new int[INITIAL_ROWS];
  private int[] size = new int[INITIAL_ROWS];
  private int[] before = new int[INITIAL_ROWS];
  private int[] after = new int[INITIAL_ROWS];
  private int[] previousFree = new int[INITIAL_ROWS];
  private int[] nextFree = new int[INITIAL_ROWS];
  private int rows;
  private int spareRow = NONE;
  private int lastRow = NONE;

  private final ExtentIndex allocated = new ExtentIndex();

  private final int[] heads = new int[LEVELS * SPLIT];
  private final int[] splitsInUse = new int[LEVELS];
  private int levelsInUse;

  // Written by the one thread that allocates, read by any.
  private volatile int limit;
  private volatile long allocatedUnits;
  private volatile int largestFree;
  private volatile int freeAtEnd;

  ExtentAllocator() {
    Arrays.fill(heads, NONE);
  }

  /** Returns the units in allocated extents. */
  long allocatedUnits() {
    return allocatedUnits;
  }

  /**
   * Returns the largest size that would be granted, in units, if the range were grown first.
   *
   * @param newLimit how many units it would have, not fewer than it has
   */
  int largestFree(int newLimit) {
    return Math.max(largestFree, newLimit > limit ? freeAtEnd + newLimit - limit : 0);
  }

  /** Returns how many units the range has. */
  int limit() {
    return limit;
  }

  /**
   * Adds units at the end of the range.
   *
   * @param newLimit how many units it has from now on, not fewer than before
   */
  void grow(int newLimit) {
    if (newLimit < limit) {
      throw new IllegalArgumentException("range of " + limit + " units cannot shrink to " + newLimit);
    }
    if (newLimit == limit) {
      return;
    }
    int row = newRow(limit, newLimit - limit);
    before[row] = lastRow;
    after[row] = NONE;
    if (lastRow != NONE) {
      after[lastRow] = row;
    }
    lastRow = row;
    limit = newLimit;
    release(row);
    publishFree();
  }

  /**
   * Takes an extent.
   *
   * @param units its size, at least 1
   * @return its first unit, or {@link #NONE}
   */
  int allocate(int units) {
    if (units < 1) {
      throw new IllegalArgumentException("extent of " + units + " units");
    }
    int row = find(units);
    if (row == NONE) {
      return NONE;
    }
    unlink(row);
    int rest = size[row] - units;
    if (rest > 0) {
      int tail = newRow(start[row] + units, rest);
      size[row] = units;
      before[tail] = row;
      after[tail] = after[row];
      after[row] = tail;
      if (after[tail] == NONE) {
        lastRow = tail;
      } else {
        before[after[tail]] = tail;
      }
      link(tail);
    }
    previousFree[row] = ALLOCATED;
    allocated.put(start[row], row, start);
    allocatedUnits = allocatedUnits + units;
    publishFree();
    return start[row];
  }

  /**
   * Gives an extent back.
   *
   * @param first its first unit
   * @throws IllegalStateException if no allocated extent begins there
   */
  void free(int first) {
    int row = allocated.remove(first, start);
    if (row == ExtentIndex.NONE) {
      throw new IllegalStateException(
          "no allocated extent begins at unit " + first + ": freed twice, or never granted");
    }
    allocatedUnits = allocatedUnits - size[row];
    release(row);
    publishFree();
  }

  /** Makes a row free and joins it with its free neighbours. */
  private void release(int row) {
    int joined = row;
    int left = before[row];
    if (left != NONE && previousFree[left] != ALLOCATED) {
      unlink(left);
      absorbNext(left);
      joined = left;
    }
    int right = after[joined];
    if (right != NONE && previousFree[right] != ALLOCATED) {
      unlink(right);
      absorbNext(joined);
    }
    link(joined);
  }

  private void absorbNext(int row) {
    int gone = after[row];
    size[row] += size[gone];
    after[row] = after[gone];
    if (after[row] == NONE) {
      lastRow = row;
    } else {
      before[after[row]] = row;
    }
    nextFree[gone] = spareRow;
    spareRow = gone;
  }

  private int find(int units) {
    int own = sizeClass(units);
    int row = heads[own];
    for (int looked = 0; row != NONE && looked < LOOK; looked++) {
      if (size[row] >= units) {
        return row;
      }
      row = nextFree[row];
    }
    // Every extent of a higher class is large enough.
    int level = own >> SPLIT_BITS;
    int split = own & SPLIT - 1;
    int splits = split == SPLIT - 1 ? 0 : splitsInUse[level] & -1 << split + 1;
    if (splits == 0) {
      int levels = level == LEVELS - 1 ? 0 : levelsInUse & -1 << level + 1;
      if (levels == 0) {
        return NONE;
      }
      level = Integer.numberOfTrailingZeros(levels);
      splits = splitsInUse[level];
    }
    return heads[level << SPLIT_BITS | Integer.numberOfTrailingZeros(splits)];
  }

  private void publishFree() {
    int largest = 0;
    if (levelsInUse != 0) {
      int level = 31 - Integer.numberOfLeadingZeros(levelsInUse);
      int split = 31 - Integer.numberOfLeadingZeros(splitsInUse[level]);
      int row = heads[level << SPLIT_BITS | split];
      for (int looked = 0; row != NONE && looked < LOOK; looked++) {
        largest = Math.max(largest, size[row]);
        row = nextFree[row];
      }
    }
    largestFree = largest;
    freeAtEnd = lastRow != NONE && previousFree[lastRow] != ALLOCATED ? size[lastRow] : 0;
  }

  /** Returns a size's class: sizes below 32 have one each, then 32 to every power of two. */
  static int sizeClass(int units) {
    if (units < SPLIT) {
      return units;
    }
    int exponent = 31 - Integer.numberOfLeadingZeros(units);
    int split = units >>> exponent - SPLIT_BITS & SPLIT - 1;
    return exponent - SPLIT_BITS + 1 << SPLIT_BITS | split;
  }

  private void link(int row) {
    int list = sizeClass(size[row]);
    int head = heads[list];
    previousFree[row] = NONE;
    nextFree[row] = head;
    if (head != NONE) {
      previousFree[head] = row;
    }
    heads[list] = row;
    splitsInUse[list >> SPLIT_BITS] |= 1 << (list & SPLIT - 1);
    levelsInUse |= 1 << (list >> SPLIT_BITS);
  }

  private void unlink(int row) {
    int list = sizeClass(size[row]);
    int next = nextFree[row];
    int previous = previousFree[row];
    if (next != NONE) {
      previousFree[next] = previous;
    }
    if (previous != NONE) {
      nextFree[previous] = next;
      return;
    }
    heads[list] = next;
    if (next == NONE) {
      int level = list >> SPLIT_BITS;
      splitsInUse[level] &= ~(1 << (list & SPLIT - 1));
      if (splitsInUse[level] == 0) {
        levelsInUse &= ~(1 << level);
      }
    }
  }

  private int newRow(int first, int units) {
    int row = spareRow;
    if (row != NONE) {
      spareRow = nextFree[row];
    } else {
      if (rows == start.length) {
        growRows();
      }
      row = rows++;
    }
    start[row] = first;
    size[row] = units;
    previousFree[row] = ALLOCATED;
    return row;
  }

  private void growRows() {
    int length = Math.multiplyExact(rows, 2);
    start = Arrays.copyOf(start, length);
    size = Arrays.copyOf(size, length);
    before = Arrays.copyOf(before, length);
    after = Arrays.copyOf(after, length);
    previousFree = Arrays.copyOf(previousFree, length);
    nextFree = Arrays.copyOf(nextFree, length);
  }
}
