package io.orbitkv.backend.dram.residency;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EvictedBlocksTest {

  private final List<Integer> forgotten = new ArrayList<>();
  private final EvictedBlocks history = new EvictedBlocks(past -> forgotten.add(past.uses()));

  @Test
  void remembersExactlyTheLastDepartures() {
    int departures = EvictedBlocks.CAPACITY + 1000;
    for (int i = 0; i < departures; i++) {
      history.put(i, new EvictedBlocks.Past(i, 0, -1));
    }
    assertThat(forgotten).hasSize(1000).startsWith(0, 1, 2).endsWith(998, 999);
    assertThat(history.take(999)).isNull();
    assertThat(history.take(1000).uses()).isEqualTo(1000);
  }

  @Test
  void blockThatCameBack_isRememberedNoMore() {
    history.put(5, new EvictedBlocks.Past(1, 10, 3));
    assertThat(history.take(5)).isEqualTo(new EvictedBlocks.Past(1, 10, 3));
    assertThat(history.take(5)).isNull();
    assertThat(forgotten).isEmpty();
  }

  @Test
  void namesThatMeet_loseTheOlder() {
    history.put(5, new EvictedBlocks.Past(1, 10, 3));
    history.put(5, new EvictedBlocks.Past(2, 11, 4));
    assertThat(forgotten).containsExactly(1);
    assertThat(history.take(5).uses()).isEqualTo(2);
  }
}
