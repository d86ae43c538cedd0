package io.orbitkv.backend.iouring.store;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The shape and name of a store. It lies in two copies at the start of the file and changes only when the store grows;
 * the intact copy of the highest revision counts.
 *
 * @param id the store's random name
 * @param segmentBytes bytes of one segment
 * @param segments how many there are
 * @param createdMillis when it was made, in milliseconds since 1970
 * @param revision 1 at creation, one more with every growth
 */
record Superblock(StoreId id, long segmentBytes, int segments, long createdMillis, long revision) {

  /** Where the copies lie. */
  static final List<Long> COPIES = List.of(0L, 32L << 10);

  /** Bytes before the first segment. */
  static final long PREAMBLE_BYTES = 64 << 10;

  private static final long MAGIC = Page.magic("ORBITKVS");

  private static final int SEGMENT_BYTES = 32;
  private static final int SEGMENTS = 40;
  private static final int CREATED = 48;
  private static final int REVISION = 56;

  /** What a page that should be a superblock is. */
  enum Condition {
    /** A superblock of this version. */
    INTACT,
    /** A superblock of another version. */
    OTHER_VERSION,
    /** It bears the magic, but its checksum or its numbers are wrong. */
    DAMAGED,
    /** Something else. */
    FOREIGN
  }

  /** Returns the position of a segment in the file. */
  long position(int segment) {
    return PREAMBLE_BYTES + segment * segmentBytes;
  }

  /** Returns the position of a page of a segment in the file. */
  long position(int segment, int offset) {
    return position(segment) + (long) offset * Page.BYTES;
  }

  /** Returns the length of the file. */
  long fileBytes() {
    return position(segments);
  }

  /** Returns the same store with more segments. */
  Superblock grownTo(int moreSegments) {
    return new Superblock(id, segmentBytes, moreSegments, createdMillis, revision + 1);
  }

  void encode(MemorySegment page, Checksum checksum) {
    Page.begin(page, MAGIC, id);
    Page.putLong(page, SEGMENT_BYTES, segmentBytes);
    Page.putInt(page, SEGMENTS, segments);
    Page.putLong(page, CREATED, createdMillis);
    Page.putLong(page, REVISION, revision);
    Page.end(page, checksum);
  }

  /** Says what a page is; {@link #decode} may be called on an intact one. */
  static Condition condition(MemorySegment page, Checksum checksum) {
    if (!Page.hasMagic(page, MAGIC)) {
      return Condition.FOREIGN;
    }
    if (Page.version(page) != Page.FORMAT_VERSION) {
      return Condition.OTHER_VERSION;
    }
    if (!Page.isIntact(page, checksum)) {
      return Condition.DAMAGED;
    }
    return Sizing.isValid(Page.getLong(page, SEGMENT_BYTES), Page.getInt(page, SEGMENTS))
        ? Condition.INTACT
        : Condition.DAMAGED;
  }

  static Superblock decode(MemorySegment page) {
    return new Superblock(
        Page.store(page),
        Page.getLong(page, SEGMENT_BYTES),
        Page.getInt(page, SEGMENTS),
        Page.getLong(page, CREATED),
        Page.getLong(page, REVISION));
  }
}
