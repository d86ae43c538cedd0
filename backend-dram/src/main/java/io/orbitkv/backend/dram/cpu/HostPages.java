package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PoolLayout;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;

/** Engine pages in host memory, and the stripes that they are copied in. */
final class HostPages implements EnginePages {

  private final PoolLayout layout;
  private final MemorySegment pool;
  /** The pool's bytes, of no arena. */
  private final MemorySegment bytes;
  private final Runnable unmap;
  private final List<Stripe> stripes;
  private final int[] stripeOfLayer;
  private final int shardBytes;
  private volatile boolean closed;

  HostPages(PoolLayout layout, MemorySegment pool) {
    this(layout, pool, () -> {});
  }

  /**
   * @param unmap gives the pool up when the pages are closed
   */
  HostPages(PoolLayout layout, MemorySegment pool, Runnable unmap) {
    if (pool.byteSize() < layout.poolBytes()) {
      throw new RefusedException("engine pool has " + pool.byteSize() + " bytes, expected at least "
          + layout.poolBytes() + " for " + layout);
    }
    this.layout = layout;
    this.pool = pool;
    this.bytes = ofNoArena(pool);
    this.unmap = unmap;
    this.stripes = Stripe.of(layout);
    this.stripeOfLayer = Stripe.ofLayers(layout);
    this.shardBytes = layout.shardBytes();
  }

  @Override
  public PoolLayout layout() {
    return layout;
  }

  MemorySegment pool() {
    if (closed) {
      throw new ClosedException("engine pages were closed before this transfer");
    }
    return pool;
  }

  /**
   * Returns a run of the pool as a buffer that does not hold the pool's arena. A checksum takes and gives back the hold
   * of every buffer by atomic operations, which wait for all stores of the copy so far: a fifth of the time of a save.
   * The pool outlives a transfer by the contract of a device, so nothing need hold it.
   */
  ByteBuffer buffer(long at, int size) {
    return bytes.asSlice(at, size).asByteBuffer();
  }

  @SuppressWarnings("restricted")
  private static MemorySegment ofNoArena(MemorySegment pool) {
    return pool.isNative() ? MemorySegment.ofAddress(pool.address()).reinterpret(pool.byteSize()) : pool;
  }

  List<Stripe> stripes() {
    return stripes;
  }

  int stripeOfLayer(int layer) {
    return stripeOfLayer[layer];
  }

  int shardBytes() {
    return shardBytes;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      unmap.run();
    }
  }
}
