package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StoreStatus;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * A random life of a store on a {@link FaultyDisk}: several incarnations, each ended by a close, a killed process or a
 * dead machine, with a model beside it that knows what was written, what was acknowledged and what must be durable.
 * After every recovery, whatever is handed over and read as good must be exactly what was appended under that name.
 */
final class StoreRun implements AutoCloseable {

  static final int SEGMENTS = 5;
  static final long SEGMENT_BYTES = 64 << 10;
  static final int DEPTH = 6;

  /** What the model knows of an extent. */
  private static final class Known {
    final TestExtent extent;
    final int segment;
    final int offset;

    /** Its append completed. */
    boolean acknowledged;

    /** An activation or seal asked for after that completed too. */
    boolean durable;

    /** An activation of its segment was asked for, so it may be gone. */
    boolean mayBeGone;

    /** That activation completed, so it must be gone. */
    boolean gone;

    Known(TestExtent extent, int segment, int offset) {
      this.extent = extent;
      this.segment = segment;
      this.offset = offset;
    }
  }

  private enum State {
    FREE,
    BUSY,
    ACTIVE,
    CLOSED
  }

  private final Random random;
  private final boolean strict;
  private final Arena arena = Arena.ofShared();
  private final Superblock superblock =
      new Superblock(new StoreId(7, 8), SEGMENT_BYTES, SEGMENTS, 0, 1);
  private final Map<Long, Known> known = new HashMap<>();

  final CapturedLog log = new CapturedLog();
  FaultyDisk disk;
  long foundExtents;
  long durableExtents;
  long badReads;
  long goodReads;

  private SegmentStore store;
  private Driver driver;
  private State[] states;
  private int[] inFlight;
  private final Map<Long, Completion> pending = new HashMap<>();
  private long nextToken;
  private Throwable failure;
  private boolean closing;
  private long nextNumber = 1;

  @FunctionalInterface
  private interface Completion {
    void completed(StoreStatus status);
  }

  /**
   * Starts with an empty disk.
   *
   * @param strict whether nothing but short transfers and deaths happens, so that everything durable must be found
   */
  StoreRun(long seed, boolean strict) {
    this.random = new Random(seed);
    this.strict = strict;
    this.disk = new FaultyDisk(superblock.fileBytes(), random);
  }

  /** Opens, recovers and checks everything that is found. */
  RecoveryReport open() throws IOException {
    pending.clear();
    states = new State[SEGMENTS];
    inFlight = new int[SEGMENTS];
    store = new SegmentStore(superblock, () -> disk.open(DEPTH), new Drops(), () -> { }, log);
    Found found = new Found();
    RecoveryReport report = store.recover(found);
    driver = store.startWithoutThread(this::completed);
    assertThat(report.extents()).isEqualTo(found.numbers.size());
    checkFound(found);
    return report;
  }

  private void completed(long token, StoreStatus status) {
    // The driver outlives a listener that throws; the test must not.
    try {
      Completion completion = pending.remove(token);
      assertThat(completion).as("token %s completes once", token).isNotNull();
      completion.completed(status);
    } catch (Throwable t) {
      failure = failure == null ? t : failure;
    }
  }

  private void turn() {
    driver.turn(false);
    rethrow();
  }

  private void rethrow() {
    if (failure != null) {
      throw new AssertionError("in a completion", failure);
    }
  }

  private final class Found implements RecoverySink {
    final Set<Long> numbers = new HashSet<>();
    final Set<Integer> segments = new HashSet<>();
    private int segment;

    @Override
    public void segment(int index, long generation, SegmentState state) {
      assertThat(segments.add(index)).as("segment %s comes once", index).isTrue();
      segment = index;
      states[index] = state == SegmentState.EMPTY ? State.FREE : State.CLOSED;
    }

    @Override
    public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
      TestExtent extent = TestExtent.of(header, shards);
      Known original = known.get(extent.number());
      assertThat(original).as("%s was appended at some time", extent).isNotNull();
      assertThat(extent).isEqualTo(original.extent);
      assertThat(header.parent()).isEqualTo(extent.expected().parent());
      assertThat(header.depth()).isEqualTo(extent.expected().depth());
      assertThat(payloadBytes).isEqualTo(extent.payloadBytes());
      assertThat(segment).isEqualTo(original.segment);
      assertThat(offset).isEqualTo(original.offset);
      if (strict) {
        assertThat(original.gone).as("%s came back from an earlier generation", extent).isFalse();
      }
      assertThat(numbers.add(extent.number())).as("%s is handed over once", extent).isTrue();
    }
  }

  private void checkFound(Found found) {
    assertThat(found.segments).hasSize(SEGMENTS);
    for (Known extent : known.values()) {
      if (strict && extent.durable && !extent.mayBeGone) {
        assertThat(found.numbers).as("durable extents").contains(extent.extent.number());
        durableExtents++;
      }
    }
    for (Known extent : List.copyOf(known.values())) {
      if (!found.numbers.contains(extent.extent.number())) {
        // A disk that failed to give it this time may give it the next.
        extent.mayBeGone = true;
        if (strict) {
          known.remove(extent.extent.number());
        }
        continue;
      }
      foundExtents++;
      extent.acknowledged = true;
      // It was read from the disk, so it is on it.
      extent.durable = true;
      extent.mayBeGone = false;
      extent.gone = false;
      read(extent);
    }
    settle();
  }

  /** Does some random things, without ending. */
  void live(int steps) {
    for (int step = 0; step < steps; step++) {
      int segment = random.nextInt(SEGMENTS);
      switch (random.nextInt(12)) {
        case 0, 1 -> activate(segment);
        case 2, 3, 4, 5, 6 -> append(segment);
        case 7 -> seal(segment);
        case 8 -> readAny();
        case 9 -> store.submit();
        default -> {
          store.submit();
          turn();
        }
      }
    }
  }

  /** Lets everything end that was asked for. */
  void settle() {
    store.submit();
    for (int turn = 0; !pending.isEmpty(); turn++) {
      assertThat(turn).as("turns until all is complete").isLessThan(100_000);
      turn();
    }
  }

  /** Ends the incarnation in one of the three ways. */
  void end() {
    switch (random.nextInt(4)) {
      case 0 -> {
        closing = true;
        store.close();
        closing = false;
        rethrow();
        assertThat(pending).isEmpty();
        // A closed store is a dead process whose every write has ended.
        survivesProcess();
        disk = disk.kill();
      }
      case 1 -> {
        survivesProcess();
        disk = disk.kill();
      }
      default -> disk = disk.powerLoss();
    }
  }

  private void survivesProcess() {
    known.values().forEach(extent -> extent.durable |= extent.acknowledged);
  }

  private void activate(int segment) {
    if (states[segment] == State.BUSY || inFlight[segment] > 0) {
      return;
    }
    states[segment] = State.BUSY;
    List<Known> before = in(segment);
    before.forEach(extent -> extent.mayBeGone = true);
    List<Known> made = acknowledged();
    store.activate(segment, token(status -> {
      states[segment] = status == StoreStatus.OK ? State.ACTIVE : State.FREE;
      if (status == StoreStatus.OK) {
        before.forEach(extent -> extent.gone = true);
        made.forEach(extent -> extent.durable = true);
      } else {
        tolerate(status);
      }
    }));
  }

  private void append(int segment) {
    if (states[segment] != State.ACTIVE) {
      return;
    }
    TestExtent extent = new TestExtent(nextNumber++, 1 + random.nextInt(3), 1 + random.nextInt(2700));
    MemorySegment record = arena.allocate(extent.recordBytes(), Page.BYTES);
    long token = nextToken;
    int offset = store.append(segment, extent.fill(record), record, token);
    if (offset == BlockStore.FULL) {
      return;
    }
    Known appended = new Known(extent, segment, offset);
    known.put(extent.number(), appended);
    inFlight[segment]++;
    token(status -> {
      inFlight[segment]--;
      if (status == StoreStatus.OK) {
        appended.acknowledged = true;
      } else {
        tolerate(status);
      }
    });
  }

  private void seal(int segment) {
    if (states[segment] != State.ACTIVE && states[segment] != State.CLOSED
        || states[segment] == State.CLOSED && store.phase(segment) != SegmentPhase.UNSEALED) {
      return;
    }
    states[segment] = State.BUSY;
    List<Known> made = acknowledged();
    store.seal(segment, token(status -> {
      states[segment] = State.CLOSED;
      if (status == StoreStatus.OK) {
        made.forEach(extent -> extent.durable = true);
      } else {
        tolerate(status);
      }
    }));
  }

  private void readAny() {
    List<Known> readable = known.values().stream().filter(extent -> extent.acknowledged && !extent.mayBeGone).toList();
    if (!readable.isEmpty()) {
      read(readable.get(random.nextInt(readable.size())));
    }
  }

  private void read(Known extent) {
    MemorySegment record = arena.allocate(extent.extent.recordBytes(), Page.BYTES);
    inFlight[extent.segment]++;
    store.read(extent.segment, extent.offset, extent.extent.expected(), record, token(status -> {
      inFlight[extent.segment]--;
      if (status == StoreStatus.OK) {
        goodReads++;
        assertThat(extent.extent.isIn(record)).as("bytes of %s", extent.extent).isTrue();
      } else {
        badReads++;
        tolerate(status);
      }
    }));
  }

  private void tolerate(StoreStatus status) {
    if (closing && status == StoreStatus.CLOSED) {
      return;
    }
    assertThat(strict).as("nothing fails when nothing is broken, not with %s", status).isFalse();
  }

  private List<Known> in(int segment) {
    return known.values().stream().filter(extent -> extent.segment == segment).toList();
  }

  private List<Known> acknowledged() {
    return new ArrayList<>(known.values().stream().filter(extent -> extent.acknowledged).toList());
  }

  private long token(Completion completion) {
    pending.put(nextToken, completion);
    return nextToken++;
  }

  @Override
  public void close() {
    arena.close();
  }
}
