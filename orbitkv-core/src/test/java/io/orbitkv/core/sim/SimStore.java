package io.orbitkv.core.sim;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StoreGeometry;
import io.orbitkv.api.spi.StoreListener;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.machine.Invariants.Violation;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * A store whose requests end when the simulator says, and how it says. It touches memory as late as a device may, and
 * finds out if the memory was given to somebody else meanwhile.
 */
public final class SimStore implements BlockStore {

  /** Kinds of requests. */
  public enum Kind {
    /** A segment's new generation. */
    ACTIVATE,
    /** An extent to be written. */
    APPEND,
    /** An extent to be read. */
    READ,
    /** A segment's summary. */
    SEAL
  }

  private sealed interface Request {
    long token();
  }

  private record Activation(int segment, long token) implements Request {}

  private record Seal(int segment, long token) implements Request {}

  private record Append(int segment, long generation, int offset, ExtentHeader header, MemorySegment record, long number,
      long token) implements Request {}

  private record Read(int segment, long generation, int offset, ExtentHeader expected, MemorySegment record, long number,
      long token) implements Request {}

  /** How a request ends when the device does what it can. */
  public static final StoreStatus AS_IT_IS = null;

  private final SimDisk disk;
  private final SimPool pool;
  private final List<Request> pending = new ArrayList<>();
  private final int[] used;
  private final boolean[] active;
  /** The headers of records in memory, by the number of their allocation: a real store keeps them in the record. */
  private final Map<Long, ExtentHeader> headers = new HashMap<>();
  private final Map<Request, Boolean> submitted = new IdentityHashMap<>();
  private StoreListener listener;

  /**
   * @param disk what outlives this store
   * @param pool the memory that records lie in
   */
  public SimStore(SimDisk disk, SimPool pool) {
    this.disk = disk;
    this.pool = pool;
    this.used = new int[disk.segments.length];
    this.active = new boolean[disk.segments.length];
  }

  @Override
  public StoreGeometry geometry() {
    return new StoreGeometry(disk.segments.length, (long) disk.segmentUnits * SimDisk.UNIT, SimDisk.UNIT, SimDisk.UNIT,
        6L * SimDisk.UNIT);
  }

  @Override
  public RecoveryReport recover(RecoverySink sink) {
    long extents = 0;
    for (int i = 0; i < disk.segments.length; i++) {
      SimDisk.Segment segment = disk.segments[i];
      sink.segment(i, segment.generation, segment.generation == 0 ? RecoverySink.SegmentState.EMPTY
          : segment.sealed ? RecoverySink.SegmentState.SEALED : RecoverySink.SegmentState.UNSEALED);
      for (Map.Entry<Integer, SimDisk.Extent> entry : segment.extents.entrySet()) {
        if (entry.getValue().lost) {
          continue;
        }
        entry.getValue().reported = true;
        ExtentHeader header = entry.getValue().header;
        sink.extent(entry.getKey(), segment.sealed ? withoutChecksums(header) : header, header.payloadBytes(),
            header.shardCrcs().length);
        extents++;
      }
    }
    return new RecoveryReport(extents, 0, 0, Map.of(), 0);
  }

  /** A summary does not carry them. */
  private static ExtentHeader withoutChecksums(ExtentHeader header) {
    return new ExtentHeader(header.namespace(), header.group(), header.key(), header.parent(), header.depth(),
        header.shardBytes(), new int[0]);
  }

  @Override
  public void start(StoreListener completions, List<MemorySegment> memory) {
    listener = completions;
  }

  @Override
  public void activate(int segment, long token) {
    for (Request request : pending) {
      if (request instanceof Append append && append.segment == segment
          || request instanceof Read read && read.segment == segment) {
        throw new Violation("segment " + segment + " is activated with " + request + " in flight");
      }
    }
    active[segment] = false;
    add(new Activation(segment, token));
  }

  @Override
  public int append(int segment, ExtentHeader header, MemorySegment record, long token) {
    if (!active[segment]) {
      throw new Violation("append to segment " + segment + ", which is not active");
    }
    int units = (int) (geometry().recordBytes(header.payloadBytes()) / SimDisk.UNIT);
    if (used[segment] + units > disk.segmentUnits) {
      return FULL;
    }
    int offset = used[segment];
    used[segment] += units;
    headers.put(pool.numberOf(record), header);
    add(new Append(segment, disk.segments[segment].generation, offset, header, record, pool.numberOf(record), token));
    return offset;
  }

  @Override
  public void read(int segment, int offset, ExtentHeader expected, MemorySegment record, long token) {
    add(new Read(
        segment, disk.segments[segment].generation, offset, expected, record, pool.numberOf(record), token));
  }

  @Override
  public ExtentHeader header(MemorySegment record) {
    ExtentHeader header = headers.get(pool.numberOf(record));
    if (header == null) {
      throw new IllegalArgumentException("no header in the record");
    }
    return header;
  }

  @Override
  public void seal(int segment, long token) {
    active[segment] = false;
    add(new Seal(segment, token));
  }

  private void add(Request request) {
    pending.add(request);
  }

  @Override
  public void submit() {
    pending.forEach(request -> submitted.put(request, true));
  }

  /** Returns how many requests have not ended. */
  public int pending() {
    return pending.size();
  }

  /** Returns how many requests of a kind have not ended. */
  public int pending(Kind kind) {
    return (int) pending.stream().filter(request -> kindOf(request) == kind).count();
  }

  /** Ends the oldest request of a kind, with a status or {@link #AS_IT_IS}. */
  public void complete(Kind kind, StoreStatus status) {
    end(pending.stream().filter(request -> kindOf(request) == kind).findFirst().orElseThrow(), status);
  }

  /** Ends the youngest request of a kind, with a status or {@link #AS_IT_IS}. */
  public void completeLast(Kind kind, StoreStatus status) {
    end(pending.reversed().stream().filter(request -> kindOf(request) == kind).findFirst().orElseThrow(), status);
  }

  /** Ends every request in order, and those that follow from their ends. */
  public void completeAll() {
    while (!pending.isEmpty()) {
      end(pending.getFirst(), AS_IT_IS);
    }
  }

  private static Kind kindOf(Request request) {
    return switch (request) {
      case Activation activation -> Kind.ACTIVATE;
      case Append append -> Kind.APPEND;
      case Read read -> Kind.READ;
      case Seal seal -> Kind.SEAL;
    };
  }

  /**
   * Ends a request chosen at random, with a status of the simulator's or as the disk has it.
   *
   * @param readsFail whether the device fails every read
   */
  void completeOne(RandomGenerator random, StoreStatus chosen, boolean readsFail) {
    Request request = pending.get(random.nextInt(pending.size()));
    StoreStatus forced = readsFail && request instanceof Read ? StoreStatus.IO_ERROR : chosen;
    if (request instanceof Seal seal && pending.stream().anyMatch(other ->
        other instanceof Append append && append.segment == seal.segment)) {
      return;
    }
    if (forced != null && request instanceof Append append && random.nextInt(3) == 0) {
      // A failed write may have got far enough to leave a header and not its bytes.
      perform(append);
      extent(append).damaged = true;
    }
    end(request, forced);
    if (random.nextInt(16) == 0) {
      endAgain(request);
    }
  }

  private void end(Request request, StoreStatus forced) {
    if (!submitted.containsKey(request)) {
      throw new Violation(request + " was never submitted");
    }
    pending.remove(request);
    submitted.remove(request);
    StoreStatus status = forced == null ? perform(request) : forced;
    if (forced != null) {
      checkMemory(request);
    } else if (request instanceof Append append) {
      extent(append).reported = true;
    }
    listener.completed(request.token(), status);
  }

  /** A second completion of a token must not end another request. */
  private void endAgain(Request request) {
    try {
      listener.completed(request.token(), StoreStatus.OK);
    } catch (IllegalStateException e) {
      return;
    }
    throw new Violation(request + " was ended twice");
  }

  private SimDisk.Extent extent(Append append) {
    return disk.segments[append.segment].extents.get(append.offset);
  }

  private void checkMemory(Request request) {
    switch (request) {
      case Append append when pool.numberOf(append.record) != append.number ->
          throw new Violation("memory was given away under " + append);
      case Read read when pool.numberOf(read.record) != read.number ->
          throw new Violation("memory was given away under " + read);
      default -> { }
    }
  }

  private StoreStatus perform(Request request) {
    checkMemory(request);
    switch (request) {
      case Activation activation -> {
        SimDisk.Segment segment = disk.segments[activation.segment];
        segment.generation = ++disk.generations;
        segment.extents.clear();
        segment.sealed = false;
        used[activation.segment] = 0;
        active[activation.segment] = true;
        return StoreStatus.OK;
      }
      case Seal seal -> {
        disk.segments[seal.segment].sealed = true;
        return StoreStatus.OK;
      }
      case Append append -> {
        byte[] payload = payload(append.record, append.header);
        checkChecksums(append, payload);
        disk.segments[append.segment].extents.put(append.offset, new SimDisk.Extent(append.header, payload));
        return StoreStatus.OK;
      }
      case Read read -> {
        SimDisk.Segment segment = disk.segments[read.segment];
        if (segment.generation != read.generation) {
          throw new Violation("segment " + read.segment + " was emptied under " + read);
        }
        SimDisk.Extent extent = segment.extents.get(read.offset);
        if (extent == null || extent.lost || !extent.header.key().equals(read.expected.key())
            || !extent.header.namespace().equals(read.expected.namespace())) {
          return StoreStatus.MISMATCH;
        }
        MemorySegment.copy(extent.bytes, 0, read.record, ValueLayout.JAVA_BYTE, SimDisk.UNIT, extent.bytes.length);
        headers.put(read.number, extent.header);
        if (extent.damaged) {
          // The header is right and the bytes are not.
          byte first = read.record.get(ValueLayout.JAVA_BYTE, SimDisk.UNIT);
          read.record.set(ValueLayout.JAVA_BYTE, SimDisk.UNIT, (byte) ~first);
          return StoreStatus.CORRUPT;
        }
        return StoreStatus.OK;
      }
    }
  }

  /** The process is killed: what was in flight is done, torn or lost, in any order. */
  void crash(RandomGenerator random) {
    while (!pending.isEmpty()) {
      Request request = pending.remove(random.nextInt(pending.size()));
      if (!submitted.containsKey(request)) {
        continue;
      }
      switch (request) {
        case Append append -> {
          int fate = random.nextInt(10);
          if (fate < 7) {
            perform(append);
          }
          if (fate >= 5 && fate < 7) {
            extent(append).damaged = true;
          }
        }
        case Seal seal -> {
          boolean whole = pending.stream().noneMatch(other ->
              other instanceof Append append && append.segment == seal.segment);
          if (whole && random.nextBoolean()) {
            perform(seal);
          }
        }
        case Activation activation -> {
          if (random.nextBoolean()) {
            perform(activation);
          }
        }
        case Read read -> { }
      }
    }
  }

  private static void checkChecksums(Append append, byte[] payload) {
    ExtentHeader header = append.header;
    for (int rank = 0; rank < header.shardCrcs().length; rank++) {
      ByteBuffer shard = ByteBuffer.wrap(payload, rank * header.shardBytes(), header.shardBytes());
      if (ShardBytes.crc(shard) != header.shardCrcs()[rank]) {
        throw new Violation("rank " + rank + " of " + append + " has other bytes than its checksum says");
      }
    }
  }

  private static byte[] payload(MemorySegment record, ExtentHeader header) {
    return record.asSlice(SimDisk.UNIT, header.payloadBytes()).toArray(ValueLayout.JAVA_BYTE);
  }

  @Override
  public void close() {}
}
