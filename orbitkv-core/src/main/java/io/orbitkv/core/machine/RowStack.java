package io.orbitkv.core.machine;

import java.util.Arrays;

/** Rows to be visited; a prefix can be a million blocks deep, so trees are never walked by recursion. */
final class RowStack {

  private int[] rows = new int[64];
  private int size;

  void push(int row) {
    if (size == rows.length) {
      rows = Arrays.copyOf(rows, size * 2);
    }
    rows[size++] = row;
  }

  int peek() {
    return rows[size - 1];
  }

  int pop() {
    return rows[--size];
  }

  int size() {
    return size;
  }
}
