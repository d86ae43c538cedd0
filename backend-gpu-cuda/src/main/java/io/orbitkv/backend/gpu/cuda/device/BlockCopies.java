package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;

/**
 * Which pages and shards a transfer is of, checked.
 *
 * @param pages one page a block
 * @param shards where each block's shard is in host memory
 * @param regions the pinned memory that each shard lies in
 */
record BlockCopies(int[] pages, long[] shards, PinnedChunks[] regions) {

  /**
   * Checks a transfer and copies what the caller may use again.
   *
   * @param toPool whether pages are written
   * @param pinned the pinned memory
   * @throws RefusedException if a page or a shard is not what it must be
   * @throws UnavailableException if a shard's memory is not pinned yet
   */
  static BlockCopies check(GpuPages own, int[] pageIds, MemorySegment[] shards, boolean toPool,
      List<PinnedMemory> pinned) {
    if (pageIds.length != shards.length) {
      throw new RefusedException("transfer has " + pageIds.length + " pages and " + shards.length
          + " shards, expected one shard a page");
    }
    int count = own.layout().pages();
    int shardBytes = own.shardBytes();
    BitSet targets = new BitSet(toPool ? count : 0);
    long[] addresses = new long[shards.length];
    PinnedChunks[] regions = new PinnedChunks[shards.length];
    for (int i = 0; i < pageIds.length; i++) {
      if (pageIds[i] < 0 || pageIds[i] >= count) {
        throw new RefusedException("page " + pageIds[i] + " of block " + i + " is not in 0 to " + (count - 1));
      }
      if (toPool) {
        if (targets.get(pageIds[i])) {
          throw new RefusedException(
              "page " + pageIds[i] + " is the target of two blocks, expected different pages");
        }
        targets.set(pageIds[i]);
      }
      MemorySegment shard = shards[i];
      if (!shard.isNative() || shard.byteSize() < shardBytes) {
        throw new RefusedException("shard " + i + " has " + shard.byteSize() + " bytes "
            + (shard.isNative() ? "of native memory" : "on the heap") + ", expected native memory of " + shardBytes);
      }
      if (!toPool && shard.isReadOnly()) {
        throw new RefusedException("shard " + i + " is read-only, and a save writes it");
      }
      addresses[i] = shard.address();
      regions[i] = region(pinned, addresses[i], shardBytes, i);
    }
    return new BlockCopies(pageIds.clone(), addresses, regions);
  }

  private static PinnedChunks region(List<PinnedMemory> pinned, long address, int bytes, int index) {
    for (PinnedMemory memory : pinned) {
      if (memory.covers(address, bytes)) {
        return memory;
      }
      if (memory.includes(address, bytes)) {
        throw new UnavailableException("the memory of shard " + index + " is not pinned yet: " + memory.progress()
            + " are; compute the blocks meanwhile");
      }
    }
    throw new RefusedException("shard " + index + " lies in memory that device cuda was not told of");
  }

  int count() {
    return pages.length;
  }

  int page(int index) {
    return pages[index];
  }

  long shard(int index) {
    return shards[index];
  }

  PinnedChunks chunks(int index) {
    return regions[index];
  }
}
