package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {

  @ParameterizedTest
  @CsvSource({"4096, 4096", "4096B, 4096", "64KiB, 65536", "320000KiB, 327680000", "1GiB, 1073741824", "0, 0"})
  void parse_acceptsBinaryUnits(String text, long bytes) {
    assertThat(ByteSize.parse(text).bytes()).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "1GB", "1.5GiB", "-1", "GiB", "1 G", "9223372036854775807KiB"})
  void parse_refusesAnythingElse(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text)).isInstanceOf(RefusedException.class).hasMessageContaining("'" + text);
  }

  @Test
  void toString_keepsWholeUnits() {
    assertThat(new ByteSize(65536)).hasToString("64KiB");
    assertThat(new ByteSize(1536L << 20)).hasToString("1.5GiB");
    assertThat(new ByteSize(0)).hasToString("0B");
  }
}
