package io.orbitkv.backend.gpu.cuda.device;

/**
 * Pieces of every page that one copy moves: rows that lie {@code pitch} apart in the pool and {@code shardPitch} apart
 * in a shard.
 *
 * @param address where page 0 has the first row
 * @param pageStride bytes to where the next page has it
 * @param pitch bytes from one row to the next
 * @param shardPitch bytes from one row to the next in a shard
 * @param rowBytes bytes of a row
 * @param rows how many
 * @param shardAt where a shard has the first
 */
record Run(long address, long pageStride, long pitch, long shardPitch, int rowBytes, int rows, int shardAt) {

  long address(int page) {
    return address + page * pageStride;
  }

  long bytes() {
    return (long) rowBytes * rows;
  }
}
