package io.orbitkv.core;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.core.machine.CoreRestore;
import java.lang.foreign.MemorySegment;

/** A restore's handle in this process: the shards are views of the cache's own memory. */
final class EmbeddedRestoreGrant implements RestoreGrant {

  private final EmbeddedCache cache;
  private final CoreRestore restore;
  private final int shardBytes;
  private boolean ended;

  EmbeddedRestoreGrant(EmbeddedCache cache, CoreRestore restore, int shardBytes) {
    this.cache = cache;
    this.restore = restore;
    this.shardBytes = shardBytes;
  }

  @Override
  public int blocks() {
    return restore.blocks();
  }

  @Override
  public MemorySegment shard(int block) {
    if (ended) {
      throw new ClosedException("the restore is drained; its shard " + block + " may hold other bytes by now");
    }
    if (block < 0 || block >= restore.blocks()) {
      throw new RefusedException("block " + block + " of a restore of " + restore.blocks());
    }
    return cache.memory(restore.shardAt(block), shardBytes).asReadOnly();
  }

  @Override
  public void enqueued() {
    if (ended) {
      throw new ClosedException("the restore is drained and cannot be enqueued");
    }
    cache.lastTurn(() -> cache.core().enqueued(restore));
  }

  @Override
  public void drained() {
    if (!ended) {
      ended = true;
      cache.lastTurn(() -> cache.core().drained(restore));
    }
  }
}
