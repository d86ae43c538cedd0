package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class QueryIdTest {

  @Test
  void negative_isRefused() {
    assertThatThrownBy(() -> new QueryId(-1, 0)).hasMessage("query id -1/0 is negative");
    assertThatThrownBy(() -> new QueryId(0, -1)).hasMessage("query id 0/-1 is negative");
    assertThat(new QueryId(7, 2)).hasToString("7/2");
  }
}
