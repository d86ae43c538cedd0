package io.orbitkv.backend.gpu.cuda.device;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import io.orbitkv.backend.gpu.cuda.driver.KernelLaunch;
import java.lang.foreign.MemorySegment;

/**
 * The blocks of one launch, written in host memory and copied to the GPU's before it: read over the bus by each warp they
 * would cost more than the pieces. Used again when the launch is complete.
 */
final class KernelBlocks {

  private static final int ALIGNMENT = 16;

  private final int capacity;
  private final MemorySegment host;
  private final long address;
  private int count;
  private boolean aligned;

  KernelBlocks(Gpu gpu, int capacity) {
    this.capacity = capacity;
    this.host = gpu.allocateHost((long) capacity * KernelLaunch.BLOCK_BYTES);
    this.address = gpu.allocate((long) capacity * KernelLaunch.BLOCK_BYTES);
  }

  void fill(int[] pages, long[] shards, int from, int to) {
    count = to - from;
    aligned = true;
    for (int i = 0; i < count; i++) {
      host.setAtIndex(JAVA_LONG, 2L * i, shards[from + i]);
      host.setAtIndex(JAVA_LONG, 2L * i + 1, pages[from + i]);
      aligned &= shards[from + i] % ALIGNMENT == 0;
    }
  }

  int capacity() {
    return capacity;
  }

  int count() {
    return count;
  }

  boolean aligned() {
    return aligned;
  }

  long address() {
    return address;
  }

  long hostAddress() {
    return host.address();
  }

  int bytes() {
    return count * KernelLaunch.BLOCK_BYTES;
  }

  void free(Gpu gpu) {
    gpu.free(address);
    gpu.freeHost(host);
  }
}
