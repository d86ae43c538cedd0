package io.orbitkv.core.machine;

import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.core.block.BlockTable;

/**
 * What was asked of the store and has not completed. One object an extent in flight: an extent is hundreds of kilobytes,
 * and the number in flight is bounded.
 */
sealed interface StoreRequest {

  /** A segment's new generation. */
  record Activate(Segment segment) implements StoreRequest {}

  /** A segment's summary. */
  record Seal(Segment segment) implements StoreRequest {}

  /** A block's extent on its way into memory. */
  final class Read implements StoreRequest {
    final Segment segment;
    final long place;
    final long memoryAt;
    /** The row, or none once nobody can see the block any more; the extent in memory is then the read's. */
    int row;

    Read(int row, Segment segment, long place, long memoryAt) {
      this.row = row;
      this.segment = segment;
      this.place = place;
      this.memoryAt = memoryAt;
    }

    void detach() {
      row = BlockTable.NONE;
    }
  }

  /** A resident block's extent on its way to the SSD. The row is held. */
  final class Write implements StoreRequest {
    final int row;
    final Segment segment;
    /** Set when the extent was given up before it was written. */
    boolean abandoned;

    Write(int row, Segment segment) {
      this.row = row;
      this.segment = segment;
    }
  }

  /** An extent moved from a segment that is being emptied to the open one. */
  final class Carry implements StoreRequest {
    /** Where the bytes come from. */
    enum Source {
      /** The block is resident, and held. */
      RESIDENT,
      /** The bytes were read into an extent of their own. */
      STAGED
    }

    final int row;
    final Segment from;
    final Source source;
    final long memoryAt;
    /** The segment it was appended to; null while its bytes are being read or it waits for a segment. */
    Segment to;
    /** Null while its bytes are being read. */
    ExtentHeader header;
    int offset;
    /** Set once the row no longer needs this: it was moved, or its extent was given up meanwhile. */
    boolean settled;

    Carry(int row, Segment from, Source source, long memoryAt) {
      this.row = row;
      this.from = from;
      this.source = source;
      this.memoryAt = memoryAt;
    }
  }
}
