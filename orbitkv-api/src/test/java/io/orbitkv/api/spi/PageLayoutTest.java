package io.orbitkv.api.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PageLayoutTest {

  @ParameterizedTest
  @CsvSource({
    "layer-major, 2, 4, 64, 256, 64, 512",
    "page-major, 2, 4, 64, 64, 128, 512",
    "padded, 2, 4, 64, 512, 128, 960",
    "one page, 3, 1, 64, 64, 64, 192",
    "one layer, 1, 3, 64, 192, 64, 192"
  })
  void poolBytes_endWithTheLastPage(
      String name, int layers, int pages, int pageBytes, long layerStride, long pageStride, long poolBytes) {
    PageLayout layout = new PageLayout(layers, pages, pageBytes, layerStride, pageStride);
    assertThat(layout.poolBytes()).as(name).isEqualTo(poolBytes);
    assertThat(layout.shardBytes()).as(name).isEqualTo(layers * pageBytes);
  }

  @ParameterizedTest
  @CsvSource({"2, 4, 64, 255, 64", "2, 4, 64, 256, 63", "2, 4, 64, 64, 127", "2, 4, 64, 0, 0", "2, 4, 64, -256, 64"})
  void overlappingPages_areRefusedWithTheStrides(
      int layers, int pages, int pageBytes, long layerStride, long pageStride) {
    assertThatThrownBy(() -> new PageLayout(layers, pages, pageBytes, layerStride, pageStride))
        .isInstanceOf(RefusedException.class)
        .hasMessageContainingAll("layer stride " + layerStride, "page stride " + pageStride);
  }

  @Test
  void nothingToLayOut_isRefused() {
    assertThatThrownBy(() -> new PageLayout(0, 1, 1, 1, 1))
        .isInstanceOf(RefusedException.class).hasMessageContaining("0 layers, 1 pages of 1 bytes");
  }

  @Test
  void shardBytes_beyondAnArray_isAnError() {
    PageLayout layout = new PageLayout(1 << 16, 1, 1 << 16, 1 << 16, 1 << 16);
    assertThatThrownBy(layout::shardBytes).isInstanceOf(ArithmeticException.class);
  }
}
