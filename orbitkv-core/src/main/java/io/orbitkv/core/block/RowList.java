package io.orbitkv.core.block;

/**
 * A list of rows through links in the rows themselves. A row is in one list at a time: of the blocks waiting to be
 * written, or of the blocks in one segment.
 */
public final class RowList {

  private final BlockTable table;
  private int head = BlockTable.NONE;
  private int tail = BlockTable.NONE;
  private int size;

  /** Makes an empty list of rows of a table. */
  public RowList(BlockTable table) {
    this.table = table;
  }

  /** Returns the first row, or {@link BlockTable#NONE}. */
  public int first() {
    return head;
  }

  /** Returns the last row, or {@link BlockTable#NONE}. */
  public int last() {
    return tail;
  }

  /** Returns the row after one that is in this list. */
  public int next(int row) {
    return table.nextInList(row);
  }

  /** Returns how many rows are in it. */
  public int size() {
    return size;
  }

  /** Appends a row that is in no list. */
  public void add(int row) {
    table.previousInList(row, tail);
    table.nextInList(row, BlockTable.NONE);
    if (tail == BlockTable.NONE) {
      head = row;
    } else {
      table.nextInList(tail, row);
    }
    tail = row;
    size++;
  }

  /** Takes out a row that is in this list. */
  public void remove(int row) {
    int previous = table.previousInList(row);
    int next = table.nextInList(row);
    if (previous == BlockTable.NONE) {
      head = next;
    } else {
      table.nextInList(previous, next);
    }
    if (next == BlockTable.NONE) {
      tail = previous;
    } else {
      table.previousInList(next, previous);
    }
    table.nextInList(row, BlockTable.NONE);
    table.previousInList(row, BlockTable.NONE);
    size--;
  }
}
