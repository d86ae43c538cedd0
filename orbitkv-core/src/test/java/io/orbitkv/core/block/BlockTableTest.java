package io.orbitkv.core.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.core.lifecycle.ExtentState;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import io.orbitkv.core.lifecycle.ResidenceState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BlockTableTest {

  private final BlockTable table = new BlockTable();

  @AfterEach
  void close() {
    table.close();
  }

  private int create() {
    return table.create(0, 1, 2, 3, 4, BlockTable.NONE, 0);
  }

  @Test
  void create_makesARowWithoutBytes() {
    int row = create();
    assertThat(table.residence(row)).isEqualTo(ResidenceState.ABSENT);
    assertThat(table.extent(row)).isEqualTo(ExtentState.ABSENT);
    assertThat(table.memoryAt(row)).isEqualTo(BlockTable.NOWHERE);
    assertThat(table.storeAt(row)).isEqualTo(BlockTable.NOWHERE);
    assertThat(table.holds(row)).isZero();
  }

  @Test
  void create_leavesNothingOfTheRowsLastBlock() {
    int row = create();
    table.on(row, ResidenceState.Event.GRANT);
    table.flag(row, BlockTable.FLAG_USED, true);
    table.memoryAt(row, 64);
    table.storeAt(row, 65);
    table.addHolds(row, 1);
    table.addMemoryChildren(row, 2);
    table.addStoreChildren(row, 3);
    table.shardCrcs(row, new int[] {7, 8});
    table.free(row);
    assertThat(table.exists(row)).isFalse();
    assertThat(create()).isEqualTo(row);
    assertThat(table.residence(row)).isEqualTo(ResidenceState.ABSENT);
    assertThat(table.flag(row, BlockTable.FLAG_USED)).isFalse();
    assertThat(table.memoryAt(row)).isEqualTo(BlockTable.NOWHERE);
    assertThat(table.storeAt(row)).isEqualTo(BlockTable.NOWHERE);
    assertThat(table.holds(row) + table.memoryChildren(row) + table.storeChildren(row)).isZero();
    assertThat(table.shardCrcs(row, 2)).isNull();
    assertThat(table.shardCrcs(row, 1)).containsExactly(0);
  }

  @Test
  void statesAndFlagsDoNotDisturbOneAnother() {
    int row = create();
    int[] flags = {BlockTable.FLAG_RELEASED, BlockTable.FLAG_USED, BlockTable.FLAG_CARRIED,
        BlockTable.FLAG_ANCESTORS_ASKED};
    for (int flag : flags) {
      table.flag(row, flag, true);
    }
    table.on(row, ResidenceState.Event.READ);
    table.on(row, ExtentState.Event.RECOVER);
    assertThat(table.residence(row)).isEqualTo(ResidenceState.LOADING);
    assertThat(table.isCommitted(row)).isTrue();
    assertThat(table.isResident(row)).isFalse();
    table.on(row, ResidenceState.Event.COMPLETE);
    table.on(row, ResidenceState.Event.PROMOTE);
    assertThat(table.isResident(row)).isTrue();
    assertThat(table.extent(row)).isEqualTo(ExtentState.COMMITTED);
    for (int flag : flags) {
      assertThat(table.flag(row, flag)).isTrue();
      table.flag(row, flag, false);
      assertThat(table.flag(row, flag)).isFalse();
    }
    assertThat(table.isResident(row)).isTrue();
    assertThat(table.isCommitted(row)).isTrue();
  }

  @Test
  void anIllegalEventChangesNothing() {
    int row = create();
    assertThatThrownBy(() -> table.on(row, ResidenceState.Event.PROMOTE))
        .isInstanceOf(IllegalTransitionException.class);
    assertThatThrownBy(() -> table.on(row, ExtentState.Event.COMMIT)).isInstanceOf(IllegalTransitionException.class);
    assertThat(table.residence(row)).isEqualTo(ResidenceState.ABSENT);
    assertThat(table.extent(row)).isEqualTo(ExtentState.ABSENT);
  }

  @Test
  void countsThatWouldBeNegativeAreFaults() {
    int row = create();
    assertThatThrownBy(() -> table.addHolds(row, -1)).isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll("row " + row, "-1 holds");
    assertThatThrownBy(() -> table.addMemoryChildren(row, -1)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> table.addStoreChildren(row, -1)).isInstanceOf(IllegalStateException.class);
    assertThat(table.holds(row)).isZero();
  }

  @Test
  void shardCrcs_areKeptForEveryRank() {
    int one = create();
    int many = create();
    table.shardCrcs(one, new int[] {5});
    table.shardCrcs(many, new int[] {6, 7, 8});
    assertThat(table.shardCrcs(one, 1)).containsExactly(5);
    assertThat(table.shardCrcs(many, 3)).containsExactly(6, 7, 8);
    table.shardCrcs(many, null);
    assertThat(table.shardCrcs(many, 3)).isNull();
  }

  @Test
  void shardCrcs_areCopies() {
    create();
    int row = create();
    table.shardCrcs(row, new int[] {6, 7});
    table.shardCrcs(row, 2)[0] = 0;
    assertThat(table.shardCrcs(row, 2)).containsExactly(6, 7);
  }

  @Test
  void free_closesTheGapBetweenSiblings() {
    int parent = create();
    int first = table.create(0, 1, 0, 0, 0, parent, 1);
    int middle = table.create(0, 2, 0, 0, 0, parent, 1);
    int last = table.create(0, 3, 0, 0, 0, parent, 1);
    table.free(middle);
    assertThat(table.firstChild(parent)).isEqualTo(last);
    assertThat(table.nextSibling(last)).isEqualTo(first);
    table.free(last);
    assertThat(table.firstChild(parent)).isEqualTo(first);
    table.free(first);
    assertThat(table.firstChild(parent)).isEqualTo(BlockTable.NONE);
  }

  @Test
  void link_putsARecoveredRowUnderItsParent() {
    int child = table.create(0, 9, 0, 0, 0, BlockTable.NONE, 1);
    int parent = create();
    table.link(child, parent);
    assertThat(table.parent(child)).isEqualTo(parent);
    assertThat(table.firstChild(parent)).isEqualTo(child);
  }
}
