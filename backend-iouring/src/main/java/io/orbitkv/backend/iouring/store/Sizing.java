package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.StoreGeometry;

/** How a capacity becomes segments, and how a segment is divided. */
final class Sizing {

  static final long MIN_SEGMENT_BYTES = 64L << 10;

  /** Bounds the memory that recovery needs for one summary. */
  static final long MAX_SEGMENT_BYTES = 4L << 30;

  /** One to fill while another is freed. */
  static final int MIN_SEGMENTS = 2;

  /** How many of the largest records a segment holds at least. */
  private static final int LARGEST_RECORDS = 4;

  private static final long MIB = 1L << 20;

  private Sizing() {}

  /** Returns the segment size for a capacity when none is configured: a power of two, 1 MiB to 1 GiB. */
  static long defaultSegmentBytes(long capacityBytes) {
    long aThirtySecond = Long.highestOneBit(Math.max(1, capacityBytes / 32));
    long anEighth = Long.highestOneBit(Math.max(1, capacityBytes / 8));
    long wanted = Math.max(aThirtySecond, Math.min(anEighth, 16 * MIB));
    return Math.clamp(wanted, MIB, 1L << 30);
  }

  /**
   * Returns the disk space that a store takes at most, everything in its folder included: the file; the folder, the lock
   * and the owner's note; and what the file system needs to map the file, 12 bytes for each extent of at least 12 KiB
   * in ext4 and less elsewhere.
   */
  static long footprintBytes(long fileBytes) {
    return fileBytes + (64 << 10) + Page.roundUp(fileBytes >> 10);
  }

  /** Returns how many segments fit in a capacity. */
  static int segments(long capacityBytes, long segmentBytes) {
    long segments = Math.min(Integer.MAX_VALUE, capacityBytes / segmentBytes);
    while (segments > 0 && footprintBytes(Superblock.PREAMBLE_BYTES + segments * segmentBytes) > capacityBytes) {
      segments--;
    }
    return (int) segments;
  }

  static void requireSegmentBytes(long bytes) {
    if (bytes < MIN_SEGMENT_BYTES || bytes > MAX_SEGMENT_BYTES || bytes % Page.BYTES != 0) {
      throw new RefusedException("segment-bytes is " + bytes + ", expected a multiple of " + Page.BYTES + " from "
          + new ByteSize(MIN_SEGMENT_BYTES) + " to " + new ByteSize(MAX_SEGMENT_BYTES));
    }
  }

  static boolean isValid(long segmentBytes, int segments) {
    return segmentBytes >= MIN_SEGMENT_BYTES
        && segmentBytes <= MAX_SEGMENT_BYTES
        && segmentBytes % Page.BYTES == 0
        && segments >= 1
        && segments <= (Long.MAX_VALUE >> 1) / segmentBytes;
  }

  static StoreGeometry geometry(Superblock superblock) {
    long room = superblock.segmentBytes() - Page.BYTES - Summary.bytes(LARGEST_RECORDS);
    long largestRecord = room / LARGEST_RECORDS & -Page.BYTES;
    return new StoreGeometry(
        superblock.segments(), superblock.segmentBytes(), Page.BYTES, Page.BYTES, largestRecord - Page.BYTES);
  }
}
