package io.orbitkv.core;

import io.orbitkv.api.Lease;
import io.orbitkv.core.machine.CoreLease;

/** A lease's handle in this process. */
final class EmbeddedLease implements Lease {

  private final EmbeddedCache cache;
  private final CoreLease lease;

  EmbeddedLease(EmbeddedCache cache, CoreLease lease) {
    this.cache = cache;
    this.lease = lease;
  }

  CoreLease lease() {
    return lease;
  }

  EmbeddedCache cache() {
    return cache;
  }

  @Override
  public long id() {
    return lease.id();
  }

  @Override
  public int blocks() {
    return lease.blocks();
  }

  @Override
  public long bytes() {
    return lease.bytes();
  }

  @Override
  public void close() {
    cache.lastTurn(() -> cache.core().close(lease));
  }
}
