package io.orbitkv.api.spi;

import io.orbitkv.api.RefusedException;

/**
 * Where the pages of a group of equal layers lie in an engine's pool, as the engine states it. The page {@code p} of
 * layer {@code l} of the group is the {@code pageBytes} bytes at {@code base + l * layerStride + p * pageStride}.
 *
 * @param base where page 0 of the group's first layer begins, in bytes from the pool's beginning
 * @param layers number of layers, 1 or more
 * @param pages number of pages of each layer, 1 or more
 * @param pageBytes bytes of one page of one layer
 * @param layerStride bytes from a page of one layer to the same page of the next
 * @param pageStride bytes from a page to the next of the same layer
 */
public record PageLayout(long base, int layers, int pages, int pageBytes, long layerStride, long pageStride) {

  /** Checks that no two pages overlap. */
  public PageLayout {
    if (base < 0) {
      throw new RefusedException("pages begin at byte " + base + " of the pool, expected zero or more");
    }
    if (layers < 1 || pages < 1 || pageBytes < 1) {
      throw new RefusedException("page layout has " + layers + " layers, " + pages + " pages of " + pageBytes
          + " bytes, expected at least 1 of each");
    }
    if (layerStride < 0 || pageStride < 0 || !fits(layers, layerStride, pages, pageStride, pageBytes, base)) {
      throw new RefusedException("pages overlap or leave the address space: layer stride " + layerStride
          + " and page stride " + pageStride + " are not possible for " + layers + " layers, " + pages + " pages of "
          + pageBytes + " bytes");
    }
  }

  /** A group that begins where the pool does. */
  public PageLayout(int layers, int pages, int pageBytes, long layerStride, long pageStride) {
    this(0, layers, pages, pageBytes, layerStride, pageStride);
  }

  private static boolean fits(int layers, long layerStride, int pages, long pageStride, int pageBytes, long base) {
    try {
      long alongLayers = Math.multiplyExact(layerStride, layers - 1L);
      long alongPages = Math.multiplyExact(pageStride, pages - 1L);
      Math.addExact(Math.addExact(base, pageBytes), Math.addExact(alongLayers, alongPages));
      boolean layerMajor = pageStride >= pageBytes && layerStride >= alongPages + pageBytes;
      boolean pageMajor = layerStride >= pageBytes && pageStride >= alongLayers + pageBytes;
      return layerMajor || pageMajor;
    } catch (ArithmeticException overflow) {
      return false;
    }
  }

  /** Returns the bytes of one block in this group. */
  public int shardBytes() {
    return Math.multiplyExact(layers, pageBytes);
  }

  /**
   * Returns where a page begins in the pool. Not checked.
   *
   * @param layer 0 to layers - 1, in this group
   * @param page 0 to pages - 1
   */
  public long offset(int layer, int page) {
    return base + layer * layerStride + page * pageStride;
  }

  /** Returns whether a page's layers lie one behind another, so that a block of this group is one piece. */
  public boolean contiguous() {
    return layers == 1 || layerStride == pageBytes;
  }

  /** Returns the bytes that the pool must have for this group. */
  public long poolBytes() {
    return base + layerStride * (layers - 1) + pageStride * (pages - 1) + pageBytes;
  }

  /** Returns the larger stride: what one period of the group's pages takes. */
  private long period() {
    return Math.max(layers > 1 ? layerStride : 0, pages > 1 ? pageStride : 0);
  }

  /** Returns the bytes from the first to the last within one period. */
  private long span() {
    return poolBytes() - base - period() * ((period() == pageStride && pages > 1 ? pages : layers) - 1L);
  }

  /** Returns whether no page of this group can share a byte with one of another, as far as periods tell. */
  boolean apartFrom(PageLayout other) {
    if (poolBytes() <= other.base || other.poolBytes() <= base) {
      return true;
    }
    long period = period();
    if (period == 0 || period != other.period()) {
      return false;
    }
    // Interleaved: the same period, and within it one begins behind the other's end and ends before its next beginning.
    long ahead = Math.floorMod(other.base - base, period);
    return ahead >= span() && ahead + other.span() <= period;
  }
}
