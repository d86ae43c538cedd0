package io.orbitkv.core;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.core.machine.CoreSave;
import java.lang.foreign.MemorySegment;

/** A save's handle in this process: the shards are views of the cache's own memory. */
final class EmbeddedSaveGrant implements SaveGrant {

  private final EmbeddedCache cache;
  private final CoreSave save;
  private final int shardBytes;
  private final int[] crcs;
  private final boolean[] copied;
  private boolean ended;

  EmbeddedSaveGrant(EmbeddedCache cache, CoreSave save, int shardBytes) {
    this.cache = cache;
    this.save = save;
    this.shardBytes = shardBytes;
    this.crcs = new int[save.blocks()];
    this.copied = new boolean[save.blocks()];
  }

  @Override
  public int firstBlock() {
    return save.first();
  }

  @Override
  public int blocks() {
    return save.blocks();
  }

  @Override
  public boolean wants(int block) {
    return save.wants(block);
  }

  @Override
  public int wanted() {
    return save.wanted();
  }

  @Override
  public int stored() {
    return save.stored();
  }

  @Override
  public MemorySegment shard(int block) {
    requireOpen();
    return cache.memory(save.shardAt(block), shardBytes);
  }

  @Override
  public void copied(int block, int crc32c) {
    requireOpen();
    save.shardAt(block);
    crcs[block - save.first()] = crc32c;
    copied[block - save.first()] = true;
  }

  @Override
  public int commit() {
    requireOpen();
    ended = true;
    return cache.lastTurn(() -> cache.core().commit(save, crcs, copied), 0);
  }

  @Override
  public void close() {
    if (!ended) {
      ended = true;
      cache.lastTurn(() -> cache.core().abort(save));
    }
  }

  private void requireOpen() {
    if (ended) {
      throw new ClosedException("the save of " + save.blocks() + " blocks from " + save.first() + " has ended");
    }
  }
}
