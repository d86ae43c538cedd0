package io.orbitkv.backend.iouring.ring;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Memory cut into the pieces that the kernel registers, and the search for the piece that a transfer lies in. */
final class FixedBuffers {

  /** The kernel's limit of one registered buffer. */
  static final long MAX_BYTES = 1L << 30;

  /** The kernel's limit of registered buffers in one ring. */
  static final int MAX_COUNT = 1 << 14;

  static final FixedBuffers NONE = of(List.of());

  private final long[] starts;
  private final long[] ends;

  private FixedBuffers(long[] starts, long[] ends) {
    this.starts = starts;
    this.ends = ends;
  }

  /** Cuts regions, which do not overlap, into pieces. */
  static FixedBuffers of(List<MemorySegment> regions) {
    List<MemorySegment> pieces = new ArrayList<>();
    for (MemorySegment region : regions) {
      for (long from = 0; from < region.byteSize(); from += MAX_BYTES) {
        pieces.add(region.asSlice(from, Math.min(MAX_BYTES, region.byteSize() - from)));
      }
    }
    pieces.sort(Comparator.comparingLong(MemorySegment::address));
    long[] starts = pieces.stream().mapToLong(MemorySegment::address).toArray();
    long[] ends = pieces.stream().mapToLong(piece -> piece.address() + piece.byteSize()).toArray();
    return new FixedBuffers(starts, ends);
  }

  int count() {
    return starts.length;
  }

  /** Returns the bytes of all pieces. */
  long bytes() {
    long bytes = 0;
    for (int i = 0; i < starts.length; i++) {
      bytes += ends[i] - starts[i];
    }
    return bytes;
  }

  /** Returns the piece that holds all of the memory, or -1: there is none, or the memory lies across a cut. */
  int indexOf(MemorySegment memory) {
    long start = memory.address();
    int low = 0;
    int high = starts.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (starts[middle] <= start) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    int candidate = low - 1;
    return candidate >= 0 && start + memory.byteSize() <= ends[candidate] ? candidate : -1;
  }

  /** Returns the pieces as the kernel takes them. */
  MemorySegment table(Arena arena) {
    MemorySegment table = arena.allocate((long) count() * Uring.BUFFER_BYTES, Long.BYTES);
    for (int i = 0; i < starts.length; i++) {
      long entry = (long) i * Uring.BUFFER_BYTES;
      table.set(ValueLayout.JAVA_LONG, entry + Uring.BUFFER_ADDRESS, starts[i]);
      table.set(ValueLayout.JAVA_LONG, entry + Uring.BUFFER_LENGTH, ends[i] - starts[i]);
    }
    return table;
  }
}
