package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StoreStatus;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A small store on a {@link FaultyDisk}, turned by the test: calls that do one thing and wait for its end. */
final class SteppedStore implements AutoCloseable {

  static final long SEGMENT_BYTES = 64 << 10;
  static final Superblock SUPERBLOCK = new Superblock(new StoreId(0x1122334455667788L, 0x99AABBCCDDEEFF00L),
      SEGMENT_BYTES, 3, 1_700_000_000_000L, 1);

  /** An extent as recovery handed it over. */
  record Found(int segment, long generation, RecoverySink.SegmentState state, int offset, TestExtent extent) {}

  final CapturedLog log = new CapturedLog();
  final SegmentStore store;
  final RecoveryReport report;
  final List<Found> found = new ArrayList<>();
  final List<RecoverySink.SegmentState> states = new ArrayList<>();
  final Driver driver;
  final Map<Long, StoreStatus> completed = new HashMap<>();

  private final Arena arena = Arena.ofShared();
  private long nextToken;

  SteppedStore(FaultyDisk disk) throws IOException {
    store = new SegmentStore(SUPERBLOCK, () -> disk.open(8), new Drops(), () -> { }, log);
    report = store.recover(new RecoverySink() {
      private int segment;
      private long generation;
      private SegmentState state;

      @Override
      public void segment(int index, long itsGeneration, SegmentState itsState) {
        segment = index;
        generation = itsGeneration;
        state = itsState;
        states.add(itsState);
      }

      @Override
      public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
        found.add(new Found(segment, generation, state, offset, TestExtent.of(header, shards)));
      }
    });
    driver = store.startWithoutThread((token, status) ->
        assertThat(completed.put(token, status)).as("token %s completes once", token).isNull());
  }

  long token() {
    return nextToken++;
  }

  MemorySegment record(TestExtent extent) {
    return arena.allocate(extent.recordBytes(), Page.BYTES);
  }

  /** Submits and turns until a token has completed. */
  StoreStatus await(long token) {
    store.submit();
    for (int turn = 0; !completed.containsKey(token); turn++) {
      assertThat(turn).as("turns").isLessThan(10_000);
      driver.turn(false);
    }
    return completed.get(token);
  }

  StoreStatus activate(int segment) {
    long token = token();
    store.activate(segment, token);
    return await(token);
  }

  /** Appends and expects it to end well; returns the offset. */
  int append(int segment, TestExtent extent) {
    long token = token();
    int offset = append(segment, extent, token);
    assertThat(await(token)).isEqualTo(StoreStatus.OK);
    return offset;
  }

  /** Appends without waiting. */
  int append(int segment, TestExtent extent, long token) {
    MemorySegment record = record(extent);
    return store.append(segment, extent.fill(record), record, token);
  }

  StoreStatus seal(int segment) {
    long token = token();
    store.seal(segment, token);
    return await(token);
  }

  /** Reads, and if the store says that all is well checks that it is. */
  StoreStatus read(int segment, int offset, TestExtent extent) {
    MemorySegment record = record(extent);
    long token = token();
    store.read(segment, offset, extent.expected(), record, token);
    StoreStatus status = await(token);
    if (status == StoreStatus.OK) {
      assertThat(extent.isIn(record)).as("bytes of %s", extent).isTrue();
    }
    return status;
  }

  @Override
  public void close() {
    store.close();
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }
}
