package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.RecoverySink.SegmentState;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Finds what a store holds, in three passes: every segment's first and last page; the summaries of those that are
 * sealed; a scan of those that are not, or whose summary cannot be trusted. Only reads.
 */
final class Recovery {

  /** Added to the generations when one was lost, which may have been the highest: it can then not come twice. */
  private static final long LOST_GENERATION_GAP = 1L << 32;

  /** A segment whose header is intact. */
  private record Found(int segment, long generation, int entries, int entriesCrc) {

    /** The number of entries when there is no summary to read. */
    static final int UNSEALED = -1;

    boolean isSealed() {
      return entries != UNSEALED;
    }
  }

  private final StoreFile file;
  private final Superblock superblock;
  private final RecoverySink sink;
  private final Drops drops;
  private final Checksum checksum = new Checksum();
  private final List<Found> found = new ArrayList<>();

  private long extents;
  private int sealed;
  private long highestGeneration;

  Recovery(StoreFile file, Superblock superblock, RecoverySink sink, Drops drops) {
    this.file = file;
    this.superblock = superblock;
    this.sink = new CountingSink(sink);
    this.drops = drops;
  }

  RecoveryReport run() {
    long start = System.nanoTime();
    List<Found> toScan;
    try (ReadAhead reads = new ReadAhead(file, superblock.segmentBytes())) {
      readEnds(reads);
      toScan = readSummaries(reads);
      scan(reads, toScan);
    }
    return new RecoveryReport(extents, sealed, toScan.size(), drops.byLabel(), System.nanoTime() - start);
  }

  /** Returns a generation that no activation of this store has had. */
  long nextGeneration() {
    boolean lost = drops.has(Drops.Reason.DAMAGED_SEGMENT_HEADER)
        || drops.has(Drops.Reason.UNREADABLE_SEGMENT)
        || drops.has(Drops.Reason.TRUNCATED_SEGMENT);
    return highestGeneration + 1 + (lost ? LOST_GENERATION_GAP : 0);
  }

  private void readEnds(ReadAhead reads) {
    Iterator<ReadAhead.Range> ends = IntStream.range(0, superblock.segments())
        .boxed()
        .flatMap(segment -> Stream.of(
            new ReadAhead.Range(segment, superblock.position(segment), Page.BYTES),
            new ReadAhead.Range(segment, superblock.position(segment + 1) - Page.BYTES, Page.BYTES)))
        .iterator();
    Ends pairs = new Ends();
    reads.forEach(ends, pairs);
  }

  /** Takes first and last pages in turn. */
  private final class Ends implements ReadAhead.Visitor {

    private boolean isFirst = true;
    private StoreStatus headerStatus;
    private boolean headerIsZero;
    private long generation;

    @Override
    public void visit(ReadAhead.Range range, MemorySegment page, StoreStatus status) {
      if (isFirst) {
        headerStatus = status;
        generation = status == StoreStatus.OK
            ? SegmentHeader.generation(page, superblock.id(), range.segment(), checksum)
            : 0;
        headerIsZero = status == StoreStatus.OK && Page.isZero(page);
      } else {
        judge(range.segment(), page, status);
      }
      isFirst = !isFirst;
    }

    private void judge(int segment, MemorySegment lastPage, StoreStatus status) {
      boolean intact = status == StoreStatus.OK
          && Summary.isIntact(lastPage, superblock.id(), segment, superblock.segmentBytes(), checksum);
      highestGeneration = Math.max(highestGeneration, generation);
      if (intact) {
        highestGeneration = Math.max(highestGeneration, Summary.generation(lastPage));
      }
      if (generation == 0) {
        if (headerStatus != StoreStatus.OK) {
          drops.add(Drops.Reason.UNREADABLE_SEGMENT);
        } else if (!headerIsZero || intact) {
          drops.add(Drops.Reason.DAMAGED_SEGMENT_HEADER);
        }
        sink.segment(segment, 0, SegmentState.EMPTY);
      } else if (intact && Summary.generation(lastPage) == generation) {
        found.add(new Found(segment, generation, Summary.entries(lastPage), Summary.entriesCrc(lastPage)));
      } else {
        // A summary of an earlier generation is what a crash between the two writes of an activation leaves.
        if (status != StoreStatus.OK || !intact && !Page.isZero(lastPage)) {
          drops.add(Drops.Reason.DAMAGED_SUMMARY);
        }
        found.add(new Found(segment, generation, Found.UNSEALED, 0));
      }
    }
  }

  /** Hands over the sealed segments; returns the others. */
  private List<Found> readSummaries(ReadAhead reads) {
    List<Found> toScan = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      SummaryCollector collector = new SummaryCollector(arena, toScan);
      Iterator<ReadAhead.Range> ranges = found.stream()
          .filter(Found::isSealed)
          .flatMap(segment -> ReadAhead.Range.of(
              segment.segment(),
              superblock.position(segment.segment() + 1) - Summary.bytes(segment.entries()),
              // An empty summary has its last page alone; it is read again so that every segment has a range.
              Math.max(Page.BYTES, Summary.entriesBytes(segment.entries()))))
          .iterator();
      reads.forEach(ranges, collector);
    }
    found.stream().filter(segment -> !segment.isSealed()).forEach(toScan::add);
    toScan.sort((one, other) -> Integer.compare(one.segment(), other.segment()));
    return toScan;
  }

  /** Puts the chunks of a summary together: nothing of it is handed over before its checksum was found right. */
  private final class SummaryCollector implements ReadAhead.Visitor {

    private final Iterator<Found> segments = found.stream().filter(Found::isSealed).iterator();
    private final List<Found> damaged;
    private final Arena arena;
    private MemorySegment entries = MemorySegment.NULL;
    private Found current;
    private long collected;
    private boolean readable;

    SummaryCollector(Arena arena, List<Found> damaged) {
      this.arena = arena;
      this.damaged = damaged;
    }

    @Override
    public void visit(ReadAhead.Range range, MemorySegment bytes, StoreStatus status) {
      if (current == null) {
        current = segments.next();
        collected = 0;
        readable = true;
      }
      long needed = Math.max(Page.BYTES, Summary.entriesBytes(current.entries()));
      if (entries.byteSize() < needed) {
        // Grows a few times at most, to the longest summary.
        entries = arena.allocate(Math.max(needed, 2 * entries.byteSize()), Long.BYTES);
      }
      readable &= status == StoreStatus.OK;
      if (readable) {
        MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, 0, entries, ValueLayout.JAVA_BYTE, collected, range.bytes());
      }
      collected += range.bytes();
      if (collected == needed) {
        handOver(current);
        current = null;
      }
    }

    private void handOver(Found segment) {
      Summary.Reader reader = new Summary.Reader(entries);
      boolean trusted = readable
          && checksum.of(entries, 0, (long) segment.entries() * Summary.ENTRY_BYTES) == segment.entriesCrc();
      for (int entry = 0; trusted && entry < segment.entries(); entry++) {
        reader.moveTo(entry);
        trusted = reader.isSane(superblock.segmentBytes());
      }
      if (!trusted) {
        drops.add(Drops.Reason.DAMAGED_SUMMARY);
        damaged.add(segment);
        return;
      }
      sealed++;
      sink.segment(segment.segment(), segment.generation(), SegmentState.SEALED);
      for (int entry = 0; entry < segment.entries(); entry++) {
        reader.moveTo(entry);
        sink.extent(reader.offset(), reader.extent(), reader.payloadBytes(), reader.shards());
      }
    }
  }

  private void scan(ReadAhead reads, List<Found> toScan) {
    Iterator<Found> segments = toScan.iterator();
    long scanned = superblock.segmentBytes() - 2 * Page.BYTES;
    Iterator<ReadAhead.Range> ranges = toScan.stream()
        .flatMap(segment -> ReadAhead.Range.of(
            segment.segment(), superblock.position(segment.segment()) + Page.BYTES, scanned))
        .iterator();
    reads.forEach(ranges, new ReadAhead.Visitor() {
      private SegmentScan scan;
      private int segment = -1;

      @Override
      public void visit(ReadAhead.Range range, MemorySegment bytes, StoreStatus status) {
        if (range.segment() != segment) {
          Found next = segments.next();
          segment = next.segment();
          sink.segment(segment, next.generation(), SegmentState.UNSEALED);
          scan = new SegmentScan(superblock, segment, next.generation(), sink, drops);
        }
        if (status == StoreStatus.OK) {
          scan.add(bytes);
        } else {
          scan.addUnreadable(range.bytes());
        }
      }
    });
  }

  private final class CountingSink implements RecoverySink {

    private final RecoverySink target;

    CountingSink(RecoverySink target) {
      this.target = target;
    }

    @Override
    public void segment(int segment, long generation, SegmentState state) {
      target.segment(segment, generation, state);
    }

    @Override
    public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
      extents++;
      target.extent(offset, header, payloadBytes, shards);
    }
  }
}
