package io.orbitkv.api.spi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StoreGeometryTest {

  @ParameterizedTest
  @CsvSource({"0, 4096", "1, 8192", "4096, 8192", "4097, 12288", "274877906944, 274877911040"})
  void recordBytes_haveRoomForTheHeaderAndAreAligned(long payload, long record) {
    assertThat(new StoreGeometry(1, 1L << 40, 4096, 4096, 1L << 39).recordBytes(payload)).isEqualTo(record);
  }
}
