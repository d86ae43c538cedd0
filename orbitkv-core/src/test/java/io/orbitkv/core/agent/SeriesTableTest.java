package io.orbitkv.core.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import org.junit.jupiter.api.Test;

class SeriesTableTest {

  private final SeriesTable table = new SeriesTable(2, 10);

  private void begin(long series, int blocks) {
    table.keep(series, table.continued(series, 0, FakeEngine.chain((int) series, blocks)));
  }

  @Test
  void continuedChain_isThatOfTheWholePrompt() {
    begin(1, 2);
    PrefixChain whole = table.continued(1, 2, FakeEngine.part(1, 2, 5));
    assertThat(whole).isEqualTo(FakeEngine.chain(1, 5));
    table.keep(1, whole);
    assertThat(table.continued(1, 3, FakeEngine.part(1, 3, 4))).isEqualTo(FakeEngine.chain(1, 4));
    assertThat(table.continued(1, 5, FakeEngine.part(1, 5, 6))).isEqualTo(FakeEngine.chain(1, 6));
  }

  @Test
  void saveOutsideOfASeries_isNotKept() {
    begin(0, 2);
    assertThatThrownBy(() -> table.continued(0, 2, FakeEngine.part(0, 2, 3)))
        .isInstanceOf(RefusedException.class).hasMessageContaining("2 known blocks");
  }

  @Test
  void leastRecentlyUsedSeries_isForgottenFirst() {
    begin(1, 1);
    begin(2, 1);
    table.continued(1, 1, FakeEngine.part(1, 1, 2));
    begin(3, 1);
    assertThat(table.continued(1, 1, FakeEngine.part(1, 1, 2)).blocks()).isEqualTo(2);
    assertThatThrownBy(() -> table.continued(2, 1, FakeEngine.part(2, 1, 2))).isInstanceOf(ClosedException.class)
        .hasMessageContaining("series 2 is known to block 0");
  }

  @Test
  void blocksOfAllSeries_areBounded() {
    begin(1, 6);
    begin(2, 5);
    assertThatThrownBy(() -> table.continued(1, 6, FakeEngine.part(1, 6, 7))).isInstanceOf(ClosedException.class);
    assertThat(table.continued(2, 5, FakeEngine.part(2, 5, 6)).blocks()).isEqualTo(6);
    begin(3, 11);
    assertThatThrownBy(() -> table.continued(3, 11, FakeEngine.part(3, 11, 12))).isInstanceOf(ClosedException.class);
    begin(4, 10);
    assertThat(table.continued(4, 10, FakeEngine.part(4, 10, 11)).blocks()).isEqualTo(11);
  }

  @Test
  void forgottenSeries_givesItsRoomBack() {
    begin(1, 6);
    table.forget(1);
    table.forget(1);
    begin(2, 4);
    begin(3, 6);
    assertThat(table.continued(2, 4, FakeEngine.part(2, 4, 5)).blocks()).isEqualTo(5);
  }

  @Test
  void negativeCount_isRefused() {
    assertThatThrownBy(() -> table.continued(1, -1, FakeEngine.chain(1, 1))).isInstanceOf(RefusedException.class);
  }

  @Test
  void chainBeyondTheLongest_isRefused() {
    SeriesTable large = new SeriesTable(1, PrefixChain.MAX_BLOCKS);
    large.keep(1, FakeEngine.chain(1, 2));
    PrefixChain longest = FakeEngine.chain(2, PrefixChain.MAX_BLOCKS - 1);
    assertThatThrownBy(() -> large.continued(1, 2, longest)).isInstanceOf(RefusedException.class)
        .hasMessageContaining((PrefixChain.MAX_BLOCKS + 1) + " blocks");
  }
}
