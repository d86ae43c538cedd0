package io.orbitkv.backend.gpu.cuda.device;

/** How host memory was pinned: one copy of the driver's may not leave the chunk that it begins in. */
interface PinnedChunks {

  /** Returns where the chunk of an address begins. */
  long chunkStart(long address);

  /** Returns where the chunk of an address ends. */
  long chunkEnd(long address);

  /** Memory that was pinned in one piece. */
  static PinnedChunks whole(long start, long bytes) {
    return new PinnedChunks() {
      @Override
      public long chunkStart(long address) {
        return start;
      }

      @Override
      public long chunkEnd(long address) {
        return start + bytes;
      }
    };
  }
}
