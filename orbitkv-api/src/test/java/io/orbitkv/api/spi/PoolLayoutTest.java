package io.orbitkv.api.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import java.util.List;
import org.junit.jupiter.api.Test;

class PoolLayoutTest {

  /** 3 layers of 4 pages of 16 bytes, layer-major from byte 0 to 192. */
  private static final PageLayout FIRST = new PageLayout(3, 4, 16, 64, 16);

  @Test
  void groupsBehindOneAnother_addUp() {
    PoolLayout pool = new PoolLayout(List.of(FIRST, new PageLayout(192, 2, 4, 8, 32, 8)));
    assertThat(pool.layers()).isEqualTo(5);
    assertThat(pool.pages()).isEqualTo(4);
    assertThat(pool.shardBytes()).isEqualTo(3 * 16 + 2 * 8);
    assertThat(pool.poolBytes()).isEqualTo(192 + 64);
  }

  @Test
  void groupsWithinOnePage_areAccepted() {
    PageLayout outer = new PageLayout(0, 2, 4, 16, 16, 40);
    assertThat(new PoolLayout(List.of(outer, new PageLayout(32, 1, 4, 8, 8, 40))).poolBytes()).isEqualTo(160);
  }

  @Test
  void groupsThatShareBytes_areRefused() {
    assertRefused("groups 0 and 1 share bytes", FIRST, new PageLayout(191, 1, 4, 8, 32, 8));
    assertRefused("groups 0 and 1 share bytes", FIRST, FIRST);
    PageLayout outer = new PageLayout(0, 2, 4, 16, 16, 40);
    assertRefused("groups 0 and 1 share bytes", outer, new PageLayout(31, 1, 4, 8, 8, 40));
    assertRefused("groups 0 and 1 share bytes", outer, new PageLayout(33, 1, 4, 8, 8, 40));
  }

  @Test
  void groupsOfOtherPageNumbers_areRefused() {
    assertRefused("group 1 has 5 pages and group 0 4", FIRST, new PageLayout(192, 1, 5, 8, 40, 8));
  }

  @Test
  void noGroup_isRefused() {
    assertRefused("0 groups");
  }

  @Test
  void shardsBeyondAnArray_areRefused() {
    PageLayout large = new PageLayout(0, 1 << 10, 1, 1 << 20, 1 << 20, 1 << 30);
    assertRefused("2147483648 bytes", large, new PageLayout(1 << 30, 1 << 10, 1, 1 << 20, 1 << 20, 1 << 30));
  }

  private static void assertRefused(String message, PageLayout... groups) {
    assertThatThrownBy(() -> new PoolLayout(List.of(groups)))
        .isInstanceOf(RefusedException.class).hasMessageContaining(message);
  }
}
