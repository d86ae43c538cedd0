package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StoreGeometry;
import io.orbitkv.api.spi.StoreListener;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * The store as the core sees it: places extents in segments and hands requests to the {@link Driver}. Its own methods
 * touch no device, take no lock that is held for longer than a wake, and allocate a request each.
 *
 * <p><b>What is durable.</b> A completed append survives the death of the process. It survives the death of the machine
 * once any activation or seal that was asked for after it has completed.
 *
 * <p><b>Bound.</b> The store queues what it is given. Every append and read brings the memory of its record along, and a
 * segment has one activation or seal at a time, so the core's own budget for transfers bounds the queue.
 */
final class SegmentStore implements BlockStore {

  /** Opens the store's file. Every thread that uses the file opens it for itself: a ring belongs to one thread. */
  @FunctionalInterface
  interface FileOpener {
    StoreFile open() throws IOException;
  }

  private final Superblock superblock;
  private final StoreGeometry geometry;
  private final FileOpener opener;
  private final Drops dropsAtOpening;
  private final Runnable release;
  private final System.Logger logger;
  private final Segment[] segments;

  private long nextGeneration;
  private boolean recovered;
  private boolean closed;

  private Driver driver;
  private Thread thread;

  /** Requests since the last submit, the newest first. */
  private Request newest;

  private Request oldest;

  /**
   * Makes the store of an open folder.
   *
   * @param superblock its shape
   * @param opener opens its file
   * @param dropsAtOpening what was lost before recovery began
   * @param release ends the ownership of the folder
   * @param logger where faults are reported
   */
  SegmentStore(
      Superblock superblock, FileOpener opener, Drops dropsAtOpening, Runnable release, System.Logger logger) {
    this.superblock = superblock;
    this.geometry = Sizing.geometry(superblock);
    this.opener = opener;
    this.dropsAtOpening = dropsAtOpening;
    this.release = release;
    this.logger = logger;
    this.segments = new Segment[superblock.segments()];
    for (int index = 0; index < segments.length; index++) {
      segments[index] = new Segment(index);
    }
  }

  @Override
  public StoreGeometry geometry() {
    return geometry;
  }

  @Override
  public RecoveryReport recover(RecoverySink sink) {
    requireOpen("recover");
    if (recovered) {
      throw new IllegalStateException("the store was recovered already");
    }
    RecoveryReport report;
    try (StoreFile file = opener.open()) {
      Recovery recovery = new Recovery(file, superblock, new Remembering(sink), dropsAtOpening);
      report = recovery.run();
      nextGeneration = recovery.nextGeneration();
    } catch (IOException e) {
      throw unavailable(e);
    }
    recovered = true;
    logger.log(Level.INFO, "recovered " + report.extents() + " extents of store " + superblock.id() + " in "
        + report.nanos() / 1_000_000 + " ms: " + report.segmentsSealed() + " segments by summary, "
        + report.segmentsScanned() + " by scan, dropped "
        + (report.dropped().isEmpty() ? "nothing" : report.dropped()));
    return report;
  }

  /** Notes what the store itself must know of a segment: its generation, and the entries that it has yet to seal. */
  private final class Remembering implements RecoverySink {

    private final RecoverySink sink;
    private Segment current;

    Remembering(RecoverySink sink) {
      this.sink = sink;
    }

    @Override
    public void segment(int segment, long generation, SegmentState state) {
      current = segments[segment];
      current.recovered(switch (state) {
        case EMPTY -> SegmentPhase.EMPTY;
        case SEALED -> SegmentPhase.SEALED;
        case UNSEALED -> SegmentPhase.UNSEALED;
      }, generation);
      sink.segment(segment, generation, state);
    }

    @Override
    public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
      if (current.phase() == SegmentPhase.UNSEALED) {
        current.entries.add(offset, header, shards);
      }
      sink.extent(offset, header, payloadBytes, shards);
    }
  }

  @Override
  public void start(StoreListener listener, List<MemorySegment> memory) {
    requireStartable();
    CompletableFuture<Driver> ready = new CompletableFuture<>();
    // A daemon: a program that forgets to close the store may still end, and what it loses recovery finds.
    thread = Thread.ofPlatform().name("orbitkv-store").daemon().start(() -> {
      Driver opened;
      try {
        opened = open(listener, memory);
      } catch (IOException | RuntimeException e) {
        ready.completeExceptionally(e);
        return;
      }
      ready.complete(opened);
      opened.run();
    });
    try {
      driver = ready.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException failure ? failure : unavailable((IOException) e.getCause());
    }
  }

  /** Begins service without a thread: whoever calls turns the driver. The store's tests decide every step with it. */
  Driver startWithoutThread(StoreListener listener) throws IOException {
    requireStartable();
    driver = open(listener, List.of());
    return driver;
  }

  private Driver open(StoreListener listener, List<MemorySegment> memory) throws IOException {
    StoreFile file = opener.open();
    try {
      if (!memory.isEmpty()) {
        logger.log(Level.INFO, "memory of store " + superblock.id() + ": " + file.register(memory));
      }
      return new Driver(file, superblock, listener, logger);
    } catch (RuntimeException e) {
      file.close();
      throw e;
    }
  }

  private void requireStartable() {
    requireOpen("start");
    if (!recovered || driver != null) {
      throw new IllegalStateException(driver == null
          ? "the store is not recovered yet; recover it before it is started"
          : "the store was started already");
    }
  }

  private UnavailableException unavailable(IOException e) {
    return new UnavailableException("the file of store " + superblock.id() + " cannot be opened: " + e.getMessage(), e);
  }

  /** Returns where a segment is in its life. */
  SegmentPhase phase(int segment) {
    return segments[segment].phase();
  }

  @Override
  public void activate(int segment, long token) {
    Segment chosen = inService(segment, "activate");
    chosen.activate(nextGeneration++);
    add(new Activation(driver, chosen, token));
  }

  @Override
  public int append(int segment, ExtentHeader header, MemorySegment record, long token) {
    Segment chosen = inService(segment, "append");
    if (chosen.phase() != SegmentPhase.ACTIVE) {
      throw new IllegalStateException("segment " + segment + " is " + chosen.phase() + " and takes no appends");
    }
    requireRecord(header, record);
    int offset = chosen.place(record.byteSize(), geometry.segmentBytes());
    if (offset < 0) {
      return FULL;
    }
    add(new Append(driver, chosen, place(chosen, offset), header, record, token));
    return offset;
  }

  @Override
  public void read(int segment, int offset, ExtentHeader expected, MemorySegment record, long token) {
    Segment chosen = inService(segment, "read");
    requireRecord(expected, record);
    if (offset < 1 || (long) offset * Page.BYTES + record.byteSize() > geometry.segmentBytes()) {
      throw new IllegalArgumentException("offset " + offset + " with " + record.byteSize()
          + " bytes is outside a segment of " + geometry.segmentBytes());
    }
    add(new Read(driver, chosen, place(chosen, offset), expected, record, token));
  }

  @Override
  public ExtentHeader header(MemorySegment record) {
    if (!RecordHeader.isHeader(record)) {
      throw new IllegalArgumentException("no record's header lies at the start of these " + record.byteSize() + " bytes");
    }
    return RecordHeader.extent(record);
  }

  @Override
  public void seal(int segment, long token) {
    Segment chosen = inService(segment, "seal");
    chosen.on(SegmentPhase.Event.SEAL);
    add(new Seal(driver, chosen, token));
  }

  @Override
  public void submit() {
    requireOpen("submit");
    if (newest != null) {
      driver.submit(newest, oldest);
      newest = null;
      oldest = null;
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (driver != null) {
      driver.stop(newest);
      newest = null;
      oldest = null;
      awaitEnd();
    }
    release.run();
  }

  private void awaitEnd() {
    if (thread == null) {
      while (driver.turn(true)) {
        // Whoever turned it so far does so to the end.
      }
      return;
    }
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        // The kernel may still write to the core's memory: nothing may go on before the driver has ended.
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private RecordHeader.Place place(Segment segment, int offset) {
    return new RecordHeader.Place(superblock.id(), segment.index, segment.generation(), offset);
  }

  private void add(Request request) {
    request.following = newest;
    newest = request;
    if (oldest == null) {
      oldest = request;
    }
  }

  private Segment inService(int segment, String operation) {
    requireOpen(operation);
    if (driver == null) {
      throw new IllegalStateException("the store is not started yet and cannot " + operation);
    }
    if (segment < 0 || segment >= segments.length) {
      throw new IllegalArgumentException("segment is " + segment + ", expected 0 to " + (segments.length - 1));
    }
    return segments[segment];
  }

  private void requireOpen(String operation) {
    if (closed) {
      throw new ClosedException("store " + superblock.id() + " is closed and cannot " + operation);
    }
  }

  private void requireRecord(ExtentHeader header, MemorySegment record) {
    int shards = header.shardCrcs().length;
    if (shards < 1 || shards > RecordHeader.MAX_SHARDS || header.shardBytes() < 1
        || header.payloadBytes() > geometry.maxPayloadBytes()) {
      throw new IllegalArgumentException(header + " has a shape that does not fit, expected 1 to "
          + RecordHeader.MAX_SHARDS + " shards and 1 to " + geometry.maxPayloadBytes() + " bytes");
    }
    long recordBytes = geometry.recordBytes(header.payloadBytes());
    if (record.byteSize() != recordBytes || record.address() % Page.BYTES != 0) {
      throw new IllegalArgumentException("record is " + record.byteSize() + " bytes at address " + record.address()
          + ", expected " + recordBytes + " bytes at a multiple of " + Page.BYTES);
    }
  }
}
