package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoverySink;
import java.lang.foreign.MemorySegment;

/**
 * Finds the extents of a segment that has no summary, page by page. A page counts as a record's header only if it is
 * intact and names this store, this place and this generation; then its bytes follow and are checked at once. A record
 * that was never completely written leaves a gap, and the scan goes on behind it.
 */
final class SegmentScan {

  private final Superblock superblock;
  private final int segment;
  private final long generation;
  private final RecoverySink sink;
  private final Drops drops;
  private final Checksum headerChecksum = new Checksum();
  private final Checksum shardChecksum = new Checksum();

  private int page;

  // The record whose bytes are being read.
  private ExtentHeader extent;
  private int offset;
  private int shard;
  private long shardLeft;
  private long recordLeft;
  private boolean intact;

  /** Begins at the page after the segment's header. */
  SegmentScan(Superblock superblock, int segment, long generation, RecoverySink sink, Drops drops) {
    this.superblock = superblock;
    this.segment = segment;
    this.generation = generation;
    this.sink = sink;
    this.drops = drops;
    this.page = 1;
  }

  /** Takes the next pages. */
  void add(MemorySegment pages) {
    long at = 0;
    while (at < pages.byteSize()) {
      if (extent == null) {
        examine(pages.asSlice(at, Page.BYTES));
        at += Page.BYTES;
        page++;
        continue;
      }
      long here = Math.min(recordLeft, pages.byteSize() - at);
      check(pages, at, here);
      at += here;
      page += (int) (here / Page.BYTES);
      recordLeft -= here;
      if (recordLeft == 0) {
        finishRecord();
      }
    }
  }

  /** Takes the next pages, which could not be read. */
  void addUnreadable(long bytes) {
    drops.add(Drops.Reason.UNREADABLE_PART);
    page += (int) (bytes / Page.BYTES);
    if (extent != null) {
      intact = false;
      recordLeft -= Math.min(recordLeft, bytes);
      if (recordLeft == 0) {
        finishRecord();
      }
    }
  }

  private void examine(MemorySegment header) {
    RecordHeader.Place place = new RecordHeader.Place(superblock.id(), segment, generation, page);
    if (!RecordHeader.claims(header, place)) {
      return;
    }
    if (RecordHeader.wrongPlace(header, place, headerChecksum) != null || !RecordHeader.isSane(header)) {
      drops.add(Drops.Reason.DAMAGED_EXTENT_HEADER);
      return;
    }
    ExtentHeader found = RecordHeader.extent(header);
    long recordBytes = Page.roundUp(Page.BYTES + found.payloadBytes());
    if ((long) page * Page.BYTES + recordBytes > superblock.segmentBytes() - Page.BYTES) {
      drops.add(Drops.Reason.DAMAGED_EXTENT_HEADER);
      return;
    }
    extent = found;
    offset = page;
    shard = 0;
    shardLeft = found.shardBytes();
    recordLeft = recordBytes - Page.BYTES;
    intact = true;
    shardChecksum.restart();
  }

  private void check(MemorySegment pages, long from, long bytes) {
    long at = from;
    long end = from + bytes;
    while (at < end && shard < extent.shardCrcs().length) {
      long here = Math.min(shardLeft, end - at);
      shardChecksum.add(pages, at, here);
      at += here;
      shardLeft -= here;
      if (shardLeft == 0) {
        intact &= shardChecksum.value() == extent.shardCrcs()[shard];
        shard++;
        shardLeft = extent.shardBytes();
        shardChecksum.restart();
      }
    }
  }

  private void finishRecord() {
    if (intact) {
      sink.extent(offset, extent, extent.payloadBytes(), extent.shardCrcs().length);
    } else {
      drops.add(Drops.Reason.TORN_EXTENT);
    }
    extent = null;
  }
}
