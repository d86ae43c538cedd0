package io.orbitkv.api.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ExtentHeaderTest {

  @Test
  void equals_comparesChecksumsByValue() {
    assertThat(header(1, 2)).isEqualTo(header(1, 2)).hasSameHashCodeAs(header(1, 2)).isNotEqualTo(header(2, 1));
  }

  @Test
  void payloadBytes_ofManyLargeShards_doNotOverflow() {
    assertThat(header(1, 2, 3).payloadBytes()).isEqualTo(3L << 30);
  }

  private static ExtentHeader header(int... checksums) {
    Digest key = Digest.sha256("key".getBytes(StandardCharsets.UTF_8));
    return new ExtentHeader(new Namespace(Digest.ZERO), 0, key, Digest.ZERO, 0, 1 << 30, checksums);
  }
}
