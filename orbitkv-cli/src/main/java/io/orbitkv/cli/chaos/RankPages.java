package io.orbitkv.cli.chaos;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.cli.replay.BlockContent;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The pool of one rank of a stand-in, in a file that an agent maps: layer-major pages, as many in each of some sets. */
final class RankPages implements AutoCloseable {

  private static final int LAYERS = 4;
  private static final byte SCRUBBED = (byte) 0xA5;

  private final int rank;
  private final int perSet;
  private final BlockContent content;
  private final PageLayout layout;
  private final Path file;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment pool;

  /**
   * Makes a pool.
   *
   * @param rank whose
   * @param sets how many sets
   * @param perSet pages of each
   * @param shardBytes bytes of a block's shard, a multiple of 32
   * @param content what is computed
   * @param folder on tmpfs, where its file is made
   */
  RankPages(int rank, int sets, int perSet, int shardBytes, BlockContent content, Path folder) {
    this.rank = rank;
    this.perSet = perSet;
    this.content = content;
    int pageBytes = shardBytes / LAYERS;
    this.layout = new PageLayout(LAYERS, sets * perSet, pageBytes, (long) pageBytes * sets * perSet, pageBytes);
    try {
      this.file = Files.createTempFile(folder, "rank" + rank + "-", ".pool");
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        this.pool = channel.map(FileChannel.MapMode.READ_WRITE, 0, layout.poolBytes(), arena);
      }
    } catch (IOException e) {
      throw new UnavailableException("no pool can be made in '" + folder + "': " + e.getMessage(), e);
    }
  }

  PoolLayout layout() {
    return PoolLayout.of(layout);
  }

  Path file() {
    return file;
  }

  /** Returns the pages of a set for some blocks. */
  int[] pages(int set, int fromBlock, int toBlock) {
    int[] pages = new int[toBlock - fromBlock];
    for (int i = 0; i < pages.length; i++) {
      pages[i] = set * perSet + fromBlock + i;
    }
    return pages;
  }

  /** Makes a set hold nothing that any block could hold. */
  void scrub(int set) {
    forEachPage(set, 0, perSet, (block, layer, at) -> pool.asSlice(at, layout.pageBytes()).fill(SCRUBBED));
  }

  void compute(int set, PrefixChain chain, int fromBlock) {
    forEachPage(set, fromBlock, chain.blocks(), (block, layer, at) ->
        BlockContent.fill(pool, at, layout.pageBytes(), content.seed(chain, block, rank, layer)));
  }

  /** Returns how many pages of some blocks have a wrong byte. */
  int wrong(int set, PrefixChain chain, int blocks) {
    int[] wrong = new int[1];
    forEachPage(set, 0, blocks, (block, layer, at) -> {
      if (!BlockContent.matches(pool, at, layout.pageBytes(), content.seed(chain, block, rank, layer))) {
        wrong[0]++;
      }
    });
    return wrong[0];
  }

  /** Does something to a page, which begins at some byte of the pool. */
  @FunctionalInterface
  private interface PageAction {
    void on(int block, int layer, long at);
  }

  private void forEachPage(int set, int fromBlock, int toBlock, PageAction action) {
    for (int layer = 0; layer < LAYERS; layer++) {
      for (int block = fromBlock; block < toBlock; block++) {
        action.on(block, layer, layout.offset(layer, set * perSet + block));
      }
    }
  }

  /** Removes the file. An agent that has mapped it keeps what it needs. */
  @Override
  public void close() {
    arena.close();
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new UnavailableException("pool '" + file + "' cannot be removed: " + e.getMessage(), e);
    }
  }
}
