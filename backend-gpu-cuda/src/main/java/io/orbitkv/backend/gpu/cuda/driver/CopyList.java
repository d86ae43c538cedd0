package io.orbitkv.backend.gpu.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Copies to be enqueued together. Pieces that continue one another on both sides become one. Grows, and is used again.
 * Used by one thread at a time.
 */
public final class CopyList implements AutoCloseable {

  private static final int FIRST_COPIES = 256;

  private Arena arena = Arena.ofShared();
  private MemorySegment copies = arena.allocate((long) FIRST_COPIES * Cuda.COPY_BYTES, Long.BYTES);
  private int count;

  /** Empties it. */
  public void clear() {
    count = 0;
  }

  /** Returns how many copies there are. */
  public int count() {
    return count;
  }

  long address() {
    return copies.address();
  }

  /**
   * Adds a piece, or lengthens the last one by it.
   *
   * @param device where it is in the GPU's memory
   * @param host where it is in host memory
   * @param bytes its size
   * @param joins whether it may be one with the last, if they continue each other
   */
  public void add(long device, long host, int bytes, boolean joins) {
    if (joins && count > 0) {
      long last = (count - 1L) * Cuda.COPY_BYTES;
      int before = copies.get(JAVA_INT, last + Cuda.COPY_ROW_BYTES);
      if (copies.get(JAVA_INT, last + Cuda.COPY_ROWS) == 1
          && copies.get(JAVA_LONG, last + Cuda.COPY_DEVICE) + before == device
          && copies.get(JAVA_LONG, last + Cuda.COPY_HOST) + before == host
          && before <= Integer.MAX_VALUE - bytes) {
        copies.set(JAVA_INT, last + Cuda.COPY_ROW_BYTES, before + bytes);
        return;
      }
    }
    add(device, host, 0, 0, bytes, 1);
  }

  /**
   * Adds pieces that lie equally far apart.
   *
   * @param device where the first is in the GPU's memory
   * @param host where it is in host memory
   * @param pitch how far apart they are in the GPU's memory
   * @param hostPitch how far apart they are in host memory
   * @param bytes bytes of each
   * @param rows how many
   */
  public void add(long device, long host, long pitch, long hostPitch, int bytes, int rows) {
    long at = (long) count * Cuda.COPY_BYTES;
    if (at == copies.byteSize()) {
      grow();
    }
    copies.set(JAVA_LONG, at + Cuda.COPY_DEVICE, device);
    copies.set(JAVA_LONG, at + Cuda.COPY_HOST, host);
    copies.set(JAVA_LONG, at + Cuda.COPY_PITCH, pitch);
    copies.set(JAVA_LONG, at + Cuda.COPY_HOST_PITCH, hostPitch);
    copies.set(JAVA_INT, at + Cuda.COPY_ROW_BYTES, bytes);
    copies.set(JAVA_INT, at + Cuda.COPY_ROWS, rows);
    count++;
  }

  private void grow() {
    Arena larger = Arena.ofShared();
    copies = larger.allocate(2 * copies.byteSize(), Long.BYTES).copyFrom(copies);
    arena.close();
    arena = larger;
  }

  @Override
  public void close() {
    arena.close();
  }
}
