package io.orbitkv.core.adapter;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.wire.Protocol;
import org.junit.jupiter.api.Test;

class ServedReleaseTest {

  private static final ServedRelease SERVED = new ServedRelease("Engine", "1.2", "scheduler", 3);

  @Test
  void servesTheReleaseAndBuildsOfIt() {
    assertThatCode(() -> SERVED.require(3, "connector 1", "1.2", Protocol.probe())).doesNotThrowAnyException();
    assertThatCode(() -> SERVED.require(3, "connector 1", "1.2+cpu", Protocol.probe())).doesNotThrowAnyException();
  }

  @Test
  void refusesAnotherProtocol_whateverElseIsStated() {
    assertThatThrownBy(() -> SERVED.require(4, "connector 9", "7", Protocol.probe()))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("connector 9 speaks version 4 of the scheduler's protocol")
        .hasMessageContaining("use one release of both");
  }

  @Test
  void refusesAnotherRelease() {
    for (String other : new String[] {"1.20", "1.2.1", "1", ""}) {
      assertThatThrownBy(() -> SERVED.require(3, "connector 1", other, Protocol.probe()))
          .isInstanceOf(RefusedException.class)
          .hasMessageContaining("Engine is " + other + ", and ")
          .hasMessageContaining("serves 1.2;");
    }
  }

  @Test
  void refusesWhoHashesOtherwise() {
    Digest other = Digest.ZERO;
    assertThatThrownBy(() -> SERVED.require(3, "connector 1", "1.2", other))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("would not name the same blocks");
  }
}
