package io.orbitkv.api.spi;

import java.lang.foreign.MemorySegment;

/**
 * An open device. Thread-safe. Transfers run on the device's own time: {@link #save} and {@link #restore} check
 * everything, then return; pages and shards stay untouched by others until the transfer is {@link Transfer#drained}.
 */
public interface Device extends AutoCloseable {

  /**
   * Makes a pool known that this process has mapped.
   *
   * @param layout where its pages lie
   * @param pool the pool, at least {@link PoolLayout#poolBytes()}
   * @return the pages
   * @throws io.orbitkv.api.RefusedException if the pool is too small, or the device's pages do not lie in host memory
   */
  EnginePages pages(PoolLayout layout, MemorySegment pool);

  /**
   * Opens the pool of another process.
   *
   * @param memory where it is, in the device's own words, as its owner states it
   * @param layout where its pages lie in it
   * @return the pages; closing them gives the pool up
   * @throws io.orbitkv.api.RefusedException if the text is not what this device understands, or the pool is too small
   * @throws io.orbitkv.api.UnavailableException if it cannot be opened
   */
  EnginePages open(String memory, PoolLayout layout);

  /**
   * Makes host memory known in which shards will lie. A device that has to prepare it does so in the background, and
   * refuses transfers of shards that it has not come to as unavailable.
   *
   * @param memory the memory, mapped until what this returns is closed
   * @return the preparation, to be closed before the memory is unmapped, when no transfer of its shards is under way
   */
  default HostRegion hostMemory(MemorySegment memory) {
    return () -> {};
  }

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

  /**
   * As {@link #restore(EnginePages, int[], MemorySegment[])}, and has each layer's arrival seen by the engine's own
   * streams, where its pool states that they look for it. A device without streams leaves it at {@link Transfer#layerReady}.
   *
   * @param pages the engine's pages
   * @param pageIds one page a block, all different
   * @param shards one shard a block, in host memory
   * @param mark what the streams wait for, later than those of all loads before in 32 bits that wrap around; 0 for none
   * @return the transfer
   */
  default Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards, int mark) {
    return restore(pages, pageIds, shards);
  }

  /** Takes no further transfer and returns when those under way are drained. Idempotent. */
  @Override
  void close();
}
