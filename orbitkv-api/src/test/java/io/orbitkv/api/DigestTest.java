package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DigestTest {

  private static final String ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

  @Test
  void sha256_ofAbc_isThePublishedValue() {
    assertThat(Digest.sha256("abc".getBytes(StandardCharsets.US_ASCII)).toHex()).isEqualTo(ABC);
  }

  @Test
  void words_areBigEndian() {
    assertThat(Digest.ofHex(ABC).w0()).isEqualTo(0xba7816bf8f01cfeaL);
    assertThat(Digest.ofHex(ABC).w3()).isEqualTo(0xb410ff61f20015adL);
  }

  @Test
  void bytesAndHex_readBackAsTheSameDigest() {
    Digest digest = Digest.ofHex(ABC);
    assertThat(Digest.of(digest.toBytes())).isEqualTo(digest);
    assertThat(Digest.ofHex(ABC.toUpperCase(Locale.ROOT))).isEqualTo(digest);
    assertThat(digest).hasToString("ba7816bf8f01");
  }

  @Test
  void of_wrongLength_isRefused() {
    assertThatThrownBy(() -> Digest.of(new byte[31]))
        .isInstanceOf(RefusedException.class).hasMessage("digest has 31 bytes, expected 32");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "abc", "xy7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "ba78"})
  void ofHex_anythingElse_isRefusedByName(String text) {
    assertThatThrownBy(() -> Digest.ofHex(text)).isInstanceOf(RefusedException.class).hasMessageContaining("igest");
  }
}
