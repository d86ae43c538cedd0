package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PoolLayout;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Engine pages in host memory, and the stripes that they are copied in. */
final class HostPages implements EnginePages {

  private final PoolLayout layout;
  private final MemorySegment pool;
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
