package io.orbitkv.cli.replay;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/**
 * One rank of the stand-in engine: a pool of layer-major pages, handed out in scattered order as an engine's allocator
 * would after a while, and a computation that fills them.
 */
final class EngineRank implements AutoCloseable {

  /** What a page holds before a restore, so that bytes of an earlier request cannot pass for restored ones. */
  private static final byte SCRUBBED = (byte) 0xA5;

  private final int rank;
  private final PageLayout layout;
  private final BlockContent content;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment pool;
  private final EnginePages pages;
  private final int[] freePages;
  private int nextFree;

  EngineRank(int rank, PageLayout layout, BlockContent content, Device device, long seed) {
    this.rank = rank;
    this.layout = layout;
    this.content = content;
    this.pool = arena.allocate(layout.poolBytes(), 4096);
    this.pages = device.pages(layout, pool);
    this.freePages = shuffledPages(layout.pages(), new SplittableRandom(seed + rank));
  }

  int rank() {
    return rank;
  }

  EnginePages pages() {
    return pages;
  }

  /** Takes pages for some blocks, all different. Those taken longest ago come back first. */
  int[] takePages(int count) {
    int[] taken = new int[count];
    for (int i = 0; i < count; i++) {
      taken[i] = freePages[nextFree];
      nextFree = (nextFree + 1) % freePages.length;
    }
    return taken;
  }

  /** Makes the pages hold nothing that any block could hold. */
  void scrub(int[] pageIds) {
    for (int page : pageIds) {
      for (int layer = 0; layer < layout.layers(); layer++) {
        pool.asSlice(offset(page, layer), layout.pageBytes()).fill(SCRUBBED);
      }
    }
  }

  /** Computes blocks of a prompt into pages. */
  void compute(PrefixChain chain, int firstBlock, int[] pageIds) {
    for (int i = 0; i < pageIds.length; i++) {
      for (int layer = 0; layer < layout.layers(); layer++) {
        BlockContent.fill(pool, offset(pageIds[i], layer), layout.pageBytes(),
            content.seed(chain, firstBlock + i, rank, layer));
      }
    }
  }

  /**
   * Checks every byte of some blocks.
   *
   * @param wrong receives the block and layer of every page that is not what {@link #compute} would make
   */
  void verify(PrefixChain chain, int firstBlock, int[] pageIds, WrongPages wrong) {
    for (int i = 0; i < pageIds.length; i++) {
      for (int layer = 0; layer < layout.layers(); layer++) {
        if (!BlockContent.matches(pool, offset(pageIds[i], layer), layout.pageBytes(),
            content.seed(chain, firstBlock + i, rank, layer))) {
          wrong.found(firstBlock + i, rank, layer);
        }
      }
    }
  }

  @Override
  public void close() {
    pages.close();
    arena.close();
  }

  private long offset(int page, int layer) {
    return layer * layout.layerStride() + page * layout.pageStride();
  }

  private static int[] shuffledPages(int count, SplittableRandom random) {
    int[] pages = new int[count];
    for (int i = 0; i < count; i++) {
      int j = random.nextInt(i + 1);
      pages[i] = pages[j];
      pages[j] = i;
    }
    return pages;
  }

  /** Receives pages whose bytes are wrong. */
  @FunctionalInterface
  interface WrongPages {
    /** A page is wrong. */
    void found(int block, int rank, int layer);
  }
}
