package io.orbitkv.api.spi;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * One address range of memory, taken piece by piece in the background, and an allocator over it.
 *
 * <p><b>Threads.</b> {@link #allocate} and {@link #free} are called by one thread at a time (the core) and never wait.
 * The others are safe from any thread.
 */
public interface MemoryPool extends AutoCloseable {

  /** The value of {@link #allocate} when there is no room. */
  long NONE = -1;

  /** Alignment of every allocation in bytes, and the unit in which sizes are rounded up. */
  int ALIGNMENT = 4096;

  /** Returns the bytes that the pool will have. */
  long capacityBytes();

  /** Returns the bytes taken so far; grows to the capacity in the background. */
  long readyBytes();

  /**
   * Takes an extent.
   *
   * @param bytes its size, rounded up to {@link #ALIGNMENT}
   * @return its offset, a multiple of {@link #ALIGNMENT}, or {@link #NONE} if no free extent of the ready memory is large
   *     enough
   */
  long allocate(long bytes);

  /**
   * Gives an extent back.
   *
   * @param offset as {@link #allocate} returned it
   * @throws IllegalStateException if no extent begins there: a double free is an error of the caller, not ignored
   */
  void free(long offset);

  /** Returns the bytes in extents now, rounding included. */
  long allocatedBytes();

  /** Returns the largest size that {@link #allocate} would grant now. */
  long largestFreeBytes();

  /**
   * Returns a view of an extent, valid until the pool is closed.
   *
   * @param offset where it begins
   * @param bytes its length
   */
  MemorySegment slice(long offset, long bytes);

  /** Returns the whole address range, for registration with devices. */
  List<MemorySegment> regions();

  /** Returns the file that other processes map to see the same memory, if there is one. Offsets are the same in it. */
  default Optional<Path> file() {
    return Optional.empty();
  }

  /** Returns what the memory is, in words, as "shared, tmpfs /dev/shm/orbitkv-0, 4 KiB pages". */
  String describe();

  /** Unmaps and removes. No view may be used after it. Idempotent. */
  @Override
  void close();
}
