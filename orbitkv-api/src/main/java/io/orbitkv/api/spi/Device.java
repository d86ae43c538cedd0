package io.orbitkv.api.spi;

import java.lang.foreign.MemorySegment;

/** An open device. Thread-safe; a transfer is driven by the thread that asked for it. */
public interface Device extends AutoCloseable {

  /**
   * Makes an engine's pool known.
   *
   * @param layout where its pages lie
   * @param pool the pool, at least {@link PageLayout#poolBytes()}
   * @return the pages
   */
  EnginePages pages(PageLayout layout, MemorySegment pool);

  /**
   * Copies engine pages out into shards.
   *
   * @param pages the engine's pages
   * @param pageIds one page a block
   * @param shards room for one shard a block, in host memory
   * @return the transfer, with checksums when drained
   */
  Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards);

  /**
   * Copies shards into engine pages.
   *
   * @param pages the engine's pages
   * @param pageIds one page a block, all different
   * @param shards one shard a block, in host memory
   * @return the transfer
   */
  Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards);

  @Override
  void close();
}
