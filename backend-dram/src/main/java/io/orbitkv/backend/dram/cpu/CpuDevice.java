package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.zip.CRC32C;

/** Copies on the calling thread, complete when the call returns. Everything is checked before the first byte moves. */
final class CpuDevice implements Device {

  private volatile boolean closed;

  @Override
  public EnginePages pages(PageLayout layout, MemorySegment pool) {
    requireOpen();
    return new HostPages(layout, pool);
  }

  @Override
  public Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    HostPages own = check(pages, pageIds, shards);
    PageLayout layout = own.layout();
    MemorySegment pool = own.pool();
    for (int i = 0; i < shards.length; i++) {
      if (shards[i].isReadOnly()) {
        throw new RefusedException("shard " + i + " is read-only, and a save writes it");
      }
    }
    int piece = pieceBytes(layout);
    int[] checksums = new int[pageIds.length];
    CRC32C crc = new CRC32C();
    for (int i = 0; i < pageIds.length; i++) {
      crc.reset();
      long source = pageIds[i] * layout.pageStride();
      for (int at = 0; at < layout.shardBytes(); at += piece, source += layout.layerStride()) {
        MemorySegment.copy(pool, source, shards[i], at, piece);
        // Of the source, so that a page written during the copy cannot pass as whole. CRC32C takes buffers only: one
        // small view a piece.
        crc.update(pool.asSlice(source, piece).asByteBuffer());
      }
      checksums[i] = (int) crc.getValue();
    }
    return new CompletedTransfer(layout.layers(), checksums);
  }

  @Override
  public Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    HostPages own = check(pages, pageIds, shards);
    PageLayout layout = own.layout();
    MemorySegment pool = own.pool();
    if (pool.isReadOnly()) {
      throw new RefusedException("the engine's pool is read-only, and a restore writes it");
    }
    BitSet targets = new BitSet();
    for (int page : pageIds) {
      if (targets.get(page)) {
        throw new RefusedException("page " + page + " is the target of two blocks, expected different pages");
      }
      targets.set(page);
    }
    int piece = pieceBytes(layout);
    for (int i = 0; i < pageIds.length; i++) {
      long target = pageIds[i] * layout.pageStride();
      for (int at = 0; at < layout.shardBytes(); at += piece, target += layout.layerStride()) {
        MemorySegment.copy(shards[i], at, pool, target, piece);
      }
    }
    return new CompletedTransfer(layout.layers(), null);
  }

  /** A block whose layers lie one behind another is one piece, else every layer is one. */
  private static int pieceBytes(PageLayout layout) {
    return layout.layerStride() == layout.pageBytes() ? layout.shardBytes() : layout.pageBytes();
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
    PageLayout layout = own.layout();
    for (int i = 0; i < pageIds.length; i++) {
      if (pageIds[i] < 0 || pageIds[i] >= layout.pages()) {
        throw new RefusedException("page " + pageIds[i] + " of block " + i + " is not in 0 to " + (layout.pages() - 1));
      }
      if (shards[i].byteSize() < layout.shardBytes()) {
        throw new RefusedException("shard " + i + " has " + shards[i].byteSize() + " bytes, expected "
            + layout.shardBytes());
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
  }
}
