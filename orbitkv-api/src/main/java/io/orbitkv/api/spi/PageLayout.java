package io.orbitkv.api.spi;

import io.orbitkv.api.RefusedException;

/**
 * Where an engine's pages lie in its pool, as the engine states it. The page {@code p} of layer {@code l} is the {@code
 * pageBytes} bytes at {@code l * layerStride + p * pageStride}. A shard packs a block's pages layer by layer: layer
 * {@code l} at {@code l * pageBytes}.
 *
 * @param layers number of layers, 1 or more
 * @param pages number of pages of each layer, 1 or more
 * @param pageBytes bytes of one page of one layer
 * @param layerStride bytes from a page of one layer to the same page of the next
 * @param pageStride bytes from a page to the next of the same layer
 */
public record PageLayout(int layers, int pages, int pageBytes, long layerStride, long pageStride) {

  /** Checks that no two pages overlap. */
  public PageLayout {
    if (layers < 1 || pages < 1 || pageBytes < 1) {
      throw new RefusedException("page layout has " + layers + " layers, " + pages + " pages of " + pageBytes
          + " bytes, expected at least 1 of each");
    }
    boolean layerMajor = pageStride >= pageBytes && layerStride >= pageStride * (pages - 1) + pageBytes;
    boolean pageMajor = layerStride >= pageBytes && pageStride >= layerStride * (layers - 1) + pageBytes;
    if (!layerMajor && !pageMajor) {
      throw new RefusedException("pages overlap: layer stride " + layerStride + " and page stride " + pageStride
          + " are too small for " + layers + " layers, " + pages + " pages of " + pageBytes + " bytes");
    }
  }

  /** Returns the bytes of one block's shard. */
  public int shardBytes() {
    return Math.multiplyExact(layers, pageBytes);
  }

  /** Returns the bytes that the pool must have. */
  public long poolBytes() {
    return layerStride * (layers - 1) + pageStride * (pages - 1) + pageBytes;
  }
}
