package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShardLayoutTest {

  @Test
  void blockBytes_ofTheLargestLayout_doesNotOverflow() {
    assertThat(new ShardLayout(ShardLayout.MAX_RANKS, ShardLayout.MAX_SHARD_BYTES).blockBytes()).isEqualTo(1L << 38);
    assertThat(ShardLayout.single(4096)).isEqualTo(new ShardLayout(1, 4096));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, 'layout has 0 ranks, expected 1 to 256'",
    "257, 1, 'layout has 257 ranks, expected 1 to 256'",
    "1, 0, 'shard has 0 bytes, expected 1 to 1073741824'",
    "1, 1073741825, 'shard has 1073741825 bytes, expected 1 to 1073741824'"
  })
  void outOfBounds_isRefusedWithTheBounds(int ranks, int shardBytes, String message) {
    assertThatThrownBy(() -> new ShardLayout(ranks, shardBytes))
        .isInstanceOf(RefusedException.class).hasMessage(message);
  }
}
