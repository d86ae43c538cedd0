package io.orbitkv.backend.iouring.store;

import java.lang.foreign.MemorySegment;

/** The first page of a segment: which generation it holds. Written by activation, before any record of it. */
final class SegmentHeader {

  private static final long MAGIC = Page.magic("OKVSEGMT");

  private static final int GENERATION = 32;
  private static final int SEGMENT = 40;

  private SegmentHeader() {}

  static void encode(MemorySegment page, StoreId store, int segment, long generation, Checksum checksum) {
    Page.begin(page, MAGIC, store);
    Page.putLong(page, GENERATION, generation);
    Page.putInt(page, SEGMENT, segment);
    Page.end(page, checksum);
  }

  /** Returns the generation, or 0 if the page is not the intact header of this segment of this store. */
  static long generation(MemorySegment page, StoreId store, int segment, Checksum checksum) {
    boolean valid = Page.hasMagic(page, MAGIC)
        && Page.version(page) == Page.FORMAT_VERSION
        && Page.isOf(page, store)
        && Page.getInt(page, SEGMENT) == segment
        && Page.isIntact(page, checksum);
    return valid ? Math.max(0, Page.getLong(page, GENERATION)) : 0;
  }
}
