package io.orbitkv.core.block;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class RowListProperties {

  private static final int ROWS = 12;

  @Property(tries = 300)
  void aListIsInTheOrderOfAdding_andTwoListsShareTheRows(
      @ForAll @Size(max = 60) List<@IntRange(max = ROWS - 1) Integer> rows) {
    try (BlockTable table = new BlockTable()) {
      for (int i = 0; i < ROWS; i++) {
        table.create(0, i, 0, 0, 0, BlockTable.NONE, 0);
      }
      RowList one = new RowList(table);
      RowList other = new RowList(table);
      List<Integer> inOne = new ArrayList<>();
      List<Integer> inOther = new ArrayList<>();
      for (Integer row : rows) {
        // From one list to the other, and from there out of both.
        if (inOne.remove(row)) {
          one.remove(row);
          other.add(row);
          inOther.add(row);
        } else if (inOther.remove(row)) {
          other.remove(row);
        } else {
          one.add(row);
          inOne.add(row);
        }
        assertHolds(one, inOne);
        assertHolds(other, inOther);
      }
    }
  }

  private static void assertHolds(RowList list, List<Integer> expected) {
    List<Integer> actual = new ArrayList<>();
    for (int row = list.first(); row != BlockTable.NONE; row = list.next(row)) {
      actual.add(row);
    }
    assertThat(actual).isEqualTo(expected);
    assertThat(list.size()).isEqualTo(expected.size());
    assertThat(list.last()).isEqualTo(expected.isEmpty() ? BlockTable.NONE : expected.getLast());
  }
}
