package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/** Copies on threads of its own. Everything is checked on the caller's, before the first byte moves. */
final class CpuDevice implements Device {

  private final CopyQueue queue;
  private volatile boolean closed;

  CpuDevice(int threads) {
    this.queue = new CopyQueue(threads);
  }

  @Override
  public EnginePages pages(PoolLayout layout, MemorySegment pool) {
    requireOpen();
    return new HostPages(layout, pool);
  }

  @Override
  public EnginePages open(String memory, PoolLayout layout) {
    requireOpen();
    PoolFile file = PoolFile.map(memory, layout);
    return new HostPages(layout, file.pool(), file::close);
  }

  @Override
  public Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    HostPages own = check(pages, pageIds, shards);
    for (int i = 0; i < shards.length; i++) {
      if (shards[i].isReadOnly()) {
        throw new RefusedException("shard " + i + " is read-only, and a save writes it");
      }
    }
    SaveTransfer transfer = SaveTransfer.of(own, pageIds, shards);
    queue.add(transfer);
    return transfer;
  }

  @Override
  public Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    HostPages own = check(pages, pageIds, shards);
    if (own.pool().isReadOnly()) {
      throw new RefusedException("the engine's pool is read-only, and a restore writes it");
    }
    BitSet targets = new BitSet(own.layout().pages());
    for (int page : pageIds) {
      if (targets.get(page)) {
        throw new RefusedException("page " + page + " is the target of two blocks, expected different pages");
      }
      targets.set(page);
    }
    RestoreTransfer transfer = RestoreTransfer.of(own, pageIds, shards);
    queue.add(transfer);
    return transfer;
  }

  private HostPages check(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    requireOpen();
    if (!(pages instanceof HostPages own)) {
      throw new RefusedException("engine pages are " + pages.getClass().getName() + ", expected pages of this device");
    }
    if (pageIds.length != shards.length) {
      throw new RefusedException("transfer has " + pageIds.length + " pages and " + shards.length
          + " shards, expected one shard a page");
    }
    int count = own.layout().pages();
    int shardBytes = own.shardBytes();
    for (int i = 0; i < pageIds.length; i++) {
      if (pageIds[i] < 0 || pageIds[i] >= count) {
        throw new RefusedException("page " + pageIds[i] + " of block " + i + " is not in 0 to " + (count - 1));
      }
      if (shards[i].byteSize() < shardBytes) {
        throw new RefusedException("shard " + i + " has " + shards[i].byteSize() + " bytes, expected " + shardBytes);
      }
    }
    return own;
  }

  private void requireOpen() {
    if (closed) {
      throw new ClosedException("device cpu was closed");
    }
  }

  @Override
  public void close() {
    closed = true;
    queue.close();
  }
}
