package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import java.lang.foreign.MemorySegment;

/** Engine pages in host memory. */
final class HostPages implements EnginePages {

  private final PageLayout layout;
  private final MemorySegment pool;
  private volatile boolean closed;

  HostPages(PageLayout layout, MemorySegment pool) {
    if (pool.byteSize() < layout.poolBytes()) {
      throw new RefusedException("engine pool has " + pool.byteSize() + " bytes, expected at least "
          + layout.poolBytes() + " for " + layout);
    }
    this.layout = layout;
    this.pool = pool;
  }

  @Override
  public PageLayout layout() {
    return layout;
  }

  MemorySegment pool() {
    if (closed) {
      throw new ClosedException("engine pages were closed before this transfer");
    }
    return pool;
  }

  @Override
  public void close() {
    closed = true;
  }
}
