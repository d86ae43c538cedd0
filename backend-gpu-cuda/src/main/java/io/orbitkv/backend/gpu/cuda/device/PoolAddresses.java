package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.RefusedException;
import io.orbitkv.backend.gpu.cuda.driver.ExportedHandle;
import java.util.List;

/**
 * Where the bytes of a pool are on the GPU.
 *
 * @param ranges its parts, in order
 */
record PoolAddresses(List<Range> ranges) {

  /**
   * A part of the pool that lies in one piece.
   *
   * @param start where it begins in the pool
   * @param bytes its size
   * @param address where it is
   * @param allocation which of the engine's allocations it is of
   */
  record Range(long start, long bytes, long address, ExportedHandle allocation) {

    /** Returns the address of a byte of the pool that lies in it. */
    long address(long at) {
      return address + at - start;
    }
  }

  /** Returns the bytes of the pool. */
  long bytes() {
    Range last = ranges.getLast();
    return last.start() + last.bytes();
  }

  /** Returns the part that bytes of the pool lie in, all of them. */
  Range range(long from, long end) {
    for (Range range : ranges) {
      if (from >= range.start() && end <= range.start() + range.bytes()) {
        return range;
      }
    }
    throw new RefusedException("bytes " + from + " to " + end + " of the engine's pool, which one layer's pages span, "
        + "do not lie in one of its " + ranges.size() + " parts; state a group of layers for each");
  }
}
