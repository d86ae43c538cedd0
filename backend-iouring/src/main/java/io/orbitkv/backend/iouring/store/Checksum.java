package io.orbitkv.backend.iouring.store;

import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/** CRC-32C over memory, at once or piece by piece. Not thread-safe: every thread has its own. */
final class Checksum {

  /** Byte buffers hold less than 2 GiB. */
  private static final long LARGEST_VIEW = 1L << 30;

  private final CRC32C crc = new CRC32C();

  /** Returns the checksum of a range. */
  int of(MemorySegment memory, long from, long bytes) {
    restart();
    add(memory, from, bytes);
    return value();
  }

  void restart() {
    crc.reset();
  }

  /** Continues with a range. The buffer views are garbage: {@link CRC32C} takes off-heap memory in no other form. */
  void add(MemorySegment memory, long from, long bytes) {
    long end = from + bytes;
    for (long at = from; at < end; at += LARGEST_VIEW) {
      crc.update(memory.asSlice(at, Math.min(LARGEST_VIEW, end - at)).asByteBuffer());
    }
  }

  int value() {
    return (int) crc.getValue();
  }
}
