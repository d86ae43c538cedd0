package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SessionSpecTest {

  private static final Namespace NAMESPACE = new Namespace(Digest.ZERO);
  private static final ShardLayout LAYOUT = ShardLayout.single(4096);

  @Test
  void instance_mayHave128Characters() {
    assertThat(new SessionSpec("i".repeat(128), NAMESPACE, LAYOUT).instance()).hasSize(128);
  }

  @ParameterizedTest
  @MethodSource("wrongNames")
  void instance_blankOrTooLong_isRefusedByName(String name) {
    assertThatThrownBy(() -> new SessionSpec(name, NAMESPACE, LAYOUT))
        .isInstanceOf(RefusedException.class).hasMessage("instance name '" + name + "' is not 1 to 128 characters");
  }

  static Stream<String> wrongNames() {
    return Stream.of("", "  ", "i".repeat(129));
  }

  @Test
  void blockTokens_areZeroIfNotStated() {
    assertThat(new SessionSpec("i", NAMESPACE, LAYOUT).blockTokens()).isZero();
    assertThat(new SessionSpec("i", NAMESPACE, LAYOUT, 1 << 16).blockTokens()).isEqualTo(65_536);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, (1 << 16) + 1})
  void blockTokens_outOfRange_areRefusedByNumber(int tokens) {
    assertThatThrownBy(() -> new SessionSpec("i", NAMESPACE, LAYOUT, tokens))
        .isInstanceOf(RefusedException.class).hasMessageContainingAll("'i'", tokens + " tokens", "1 to 65536");
  }

  @Test
  void namespaceAndLayout_mustBeStated() {
    assertThatNullPointerException().isThrownBy(() -> new SessionSpec("i", null, LAYOUT)).withMessage("namespace");
    assertThatNullPointerException().isThrownBy(() -> new SessionSpec("i", NAMESPACE, null)).withMessage("layout");
  }
}
