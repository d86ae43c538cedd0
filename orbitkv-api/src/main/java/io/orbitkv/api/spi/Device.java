package io.orbitkv.api.spi;

import java.lang.foreign.MemorySegment;

/**
 * An open device. Thread-safe. Transfers run on the device's own time: {@link #save} and {@link #restore} check
 * everything, then return; pages and shards stay untouched by others until the transfer is {@link Transfer#drained}.
 */
public interface Device extends AutoCloseable {

  /**
   * Makes an engine's pool known.
   *
   * @param layout where its pages lie
   * @param pool the pool, at least {@link PoolLayout#poolBytes()}
   * @return the pages
   */
  EnginePages pages(PoolLayout layout, MemorySegment pool);

  /**
   * Makes a pool known whose layers are all alike.
   *
   * @param layout where its pages lie
   * @param pool the pool, at least {@link PageLayout#poolBytes()}
   * @return the pages
   */
  default EnginePages pages(PageLayout layout, MemorySegment pool) {
    return pages(PoolLayout.of(layout), pool);
  }

  /**
   * Copies engine pages out into shards.
   *
   * @param pages the engine's pages
   * @param pageIds one page a block
   * @param shards room for one shard a block, in host memory
   * @return the transfer, with checksums when drained
   * @throws io.orbitkv.api.RefusedException if a page or a shard is not what it must be; nothing was copied
   * @throws io.orbitkv.api.UnavailableException if as many transfers are under way as the device takes
   */
  Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards);

  /**
   * Copies shards into engine pages.
   *
   * @param pages the engine's pages
   * @param pageIds one page a block, all different
   * @param shards one shard a block, in host memory
   * @return the transfer
   * @throws io.orbitkv.api.RefusedException if a page or a shard is not what it must be; nothing was copied
   * @throws io.orbitkv.api.UnavailableException if as many transfers are under way as the device takes
   */
  Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards);

  /** Takes no further transfer and returns when those under way are drained. Idempotent. */
  @Override
  void close();
}
