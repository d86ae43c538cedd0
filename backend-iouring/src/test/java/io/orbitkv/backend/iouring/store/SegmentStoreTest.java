package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.RecoverySink.SegmentState;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.Errno;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the store promises its caller, call by call. */
class SegmentStoreTest {

  private final TestExtent small = new TestExtent(1, 2, 1000);
  private FaultyDisk disk = new FaultyDisk(SteppedStore.SUPERBLOCK.fileBytes(), new Random(3));
  private SteppedStore store;

  @BeforeEach
  void open() throws IOException {
    store = new SteppedStore(disk);
  }

  @AfterEach
  void close() {
    store.close();
  }

  /** The process dies and the next one opens what it left. */
  private void reopen() throws IOException {
    disk = disk.kill();
    store = new SteppedStore(disk);
  }

  // Phases.

  @Test
  void append_beforeTheActivationCompleted_isRefused() {
    assertThatIllegalStateException().isThrownBy(() -> store.append(0, small, store.token()))
        .withMessage("segment 0 is EMPTY and takes no appends");
    store.store.activate(0, store.token());
    assertThatIllegalStateException().isThrownBy(() -> store.append(0, small, store.token()))
        .withMessage("segment 0 is ACTIVATING and takes no appends");
  }

  @Test
  void append_afterSeal_isRefused() {
    store.activate(0);
    store.store.seal(0, store.token());
    assertThatIllegalStateException().isThrownBy(() -> store.append(0, small, store.token()))
        .withMessage("segment 0 is SEALING and takes no appends");
  }

  @Test
  void seal_ofWhatIsNotInUse_isRefusedWithBothNames() {
    assertThatIllegalStateException().isThrownBy(() -> store.store.seal(0, store.token()))
        .withMessage("segment 0 is EMPTY and cannot take the event SEAL");
  }

  @Test
  void activate_whileActivating_isRefused() {
    store.store.activate(0, store.token());
    assertThatIllegalStateException().isThrownBy(() -> store.store.activate(0, store.token()))
        .withMessage("segment 0 is ACTIVATING and cannot take the event ACTIVATE");
  }

  @Test
  void anyCall_afterClose_isRefused() {
    store.close();
    assertThatThrownBy(() -> store.store.submit()).isInstanceOf(ClosedException.class);
    assertThatThrownBy(() -> store.store.seal(0, 1)).isInstanceOf(ClosedException.class);
    store.store.close();
  }

  // Placement.

  @Test
  void append_fillsASegmentUntilTheSummaryHasNoRoomLeft() {
    store.activate(0);
    TestExtent twoPages = new TestExtent(7, 1, 4096);
    int placed = 0;
    while (store.append(0, twoPages, store.token()) != BlockStore.FULL) {
      placed++;
    }
    // 16 pages: the header, 6 records of 2, 1 spare, the entries, the summary's own.
    assertThat(placed).isEqualTo(6);
    assertThat(store.seal(0)).isEqualTo(StoreStatus.OK);
    assertThat(store.completed.values()).containsOnly(StoreStatus.OK);
  }

  @Test
  void geometry_holdsFourOfTheLargestPayload() {
    long largest = store.store.geometry().maxPayloadBytes();
    assertThat(largest).isEqualTo(8192);
    store.activate(0);
    for (int i = 0; i < 4; i++) {
      assertThat(store.append(0, new TestExtent(i, 1, (int) largest), store.token())).isPositive();
    }
  }

  @Test
  void append_ofAShapeThatDoesNotFit_isRefusedWithTheNumbers() {
    store.activate(0);
    TestExtent tooLarge = new TestExtent(1, 1, 8193);
    assertThatIllegalArgumentException().isThrownBy(() -> store.append(0, tooLarge, store.token()))
        .withMessageContaining("1 x 8193").withMessageContaining("1 to 8192 bytes");
    TestExtent tooMany = new TestExtent(1, 257, 1);
    assertThatIllegalArgumentException().isThrownBy(() -> store.append(0, tooMany, store.token()))
        .withMessageContaining("1 to 256 shards");
  }

  @Test
  void append_ofMemoryThatDoesNotFit_isRefused() {
    store.activate(0);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment odd = arena.allocate(3 * Page.BYTES, Page.BYTES).asSlice(512, small.recordBytes());
      assertThatIllegalArgumentException()
          .isThrownBy(() -> store.store.append(0, small.expected(), odd, store.token()))
          .withMessageContaining("at a multiple of 4096");
      MemorySegment tooLong = arena.allocate(3 * Page.BYTES, Page.BYTES);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> store.store.append(0, small.expected(), tooLong, store.token()))
          .withMessageContaining("expected 8192 bytes");
    }
  }

  @Test
  void read_outsideTheSegment_isRefused() {
    for (int offset : new int[] {-1, 0, 15, Integer.MAX_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> store.store.read(0, offset, small.expected(), store.record(small), store.token()))
          .withMessageContaining("offset " + offset);
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store.store.read(3, 1, small.expected(), store.record(small), store.token()))
        .withMessage("segment is 3, expected 0 to 2");
  }

  // Reading.

  @Test
  void read_findsTheOtherNameOrShapeOut() {
    store.activate(0);
    int offset = store.append(0, small);
    assertThat(store.read(0, offset, small)).isEqualTo(StoreStatus.OK);
    assertThat(store.read(0, offset, new TestExtent(2, 2, 1000))).isEqualTo(StoreStatus.MISMATCH);
    assertThat(store.read(0, offset, new TestExtent(1, 1, 2000))).isEqualTo(StoreStatus.MISMATCH);
    assertThat(store.read(0, offset + 1, small)).isEqualTo(StoreStatus.MISMATCH);
    assertThat(store.read(1, offset, small)).isEqualTo(StoreStatus.MISMATCH);
  }

  @Test
  void read_ofAnEarlierGeneration_isAMismatch() {
    store.activate(0);
    int offset = store.append(0, small);
    store.activate(0);
    assertThat(store.read(0, offset, small)).isEqualTo(StoreStatus.MISMATCH);
    assertThat(store.log.lines).anyMatch(line -> line.contains("generation 1, expected 2"));
  }

  @Test
  void read_ofARecordThatLiesElsewhere_isAMismatch() {
    store.activate(0);
    int offset = store.append(0, small);
    // As a disk does that writes to the wrong place.
    int from = (int) SteppedStore.SUPERBLOCK.position(0, offset);
    int to = (int) SteppedStore.SUPERBLOCK.position(0, offset + 4);
    System.arraycopy(disk.image(), from, disk.image(), to, (int) small.recordBytes());
    assertThat(store.read(0, offset + 4, small)).isEqualTo(StoreStatus.MISMATCH);
    assertThat(store.log.lines).anyMatch(line -> line.contains("record of segment 0 offset 1"));
  }

  // Recovery.

  @Test
  void recover_ofAnEmptyFile_findsEmptySegments() {
    assertThat(store.states).containsExactly(SegmentState.EMPTY, SegmentState.EMPTY, SegmentState.EMPTY);
    assertThat(store.report.extents()).isZero();
    assertThat(store.report.dropped()).isEmpty();
  }

  @Test
  void recover_readsSealedSegmentsFromTheSummaryAndScansTheOthers() throws IOException {
    store.activate(0);
    store.append(0, small);
    store.seal(0);
    store.activate(2);
    TestExtent other = new TestExtent(5, 3, 50);
    store.append(2, other);
    reopen();
    assertThat(store.found).containsExactlyInAnyOrder(
        new SteppedStore.Found(0, 1, SegmentState.SEALED, 1, small),
        new SteppedStore.Found(2, 2, SegmentState.UNSEALED, 1, other));
    assertThat(store.report.segmentsSealed()).isEqualTo(1);
    assertThat(store.report.segmentsScanned()).isEqualTo(1);
  }

  @Test
  void seal_ofASegmentThatRecoveryFoundUnsealed_makesItSealed() throws IOException {
    store.activate(1);
    store.append(1, small);
    reopen();
    assertThat(store.seal(1)).isEqualTo(StoreStatus.OK);
    reopen();
    assertThat(store.found).containsExactly(new SteppedStore.Found(1, 1, SegmentState.SEALED, 1, small));
    assertThat(store.read(1, 1, small)).isEqualTo(StoreStatus.OK);
  }

  @Test
  void seal_ofAnEmptySegment_isRecoveredAsSealedAndEmpty() throws IOException {
    store.activate(1);
    assertThat(store.seal(1)).isEqualTo(StoreStatus.OK);
    reopen();
    assertThat(store.states).contains(SegmentState.SEALED);
    assertThat(store.report.extents()).isZero();
  }

  @Test
  void generations_goOnAfterARestart() throws IOException {
    store.activate(0);
    store.activate(1);
    reopen();
    store.activate(2);
    store.append(2, small);
    reopen();
    assertThat(store.found).extracting(SteppedStore.Found::generation).containsExactly(3L);
  }

  @Test
  void generations_leaveAGapWhenOneWasLost() throws IOException {
    store.activate(0);
    store.append(0, small);
    disk.flip(SteppedStore.SUPERBLOCK.position(0), 0);
    reopen();
    store.activate(0);
    reopen();
    // The lost generation's record is still on the disk, whole and at its place; it must not come back.
    assertThat(store.found).isEmpty();
    assertThat(store.states).contains(SegmentState.UNSEALED);
  }

  // Faults.

  @ParameterizedTest
  @CsvSource({"EIO, IO_ERROR", "ENOSPC, NO_SPACE", "EDQUOT, NO_SPACE", "EROFS, READ_ONLY"})
  void append_thatTheDeviceRefuses_endsWithTheReasonAndIsNotInTheSummary(Errno errno, StoreStatus status)
      throws IOException {
    store.activate(0);
    disk.faults.writeErrno = errno;
    disk.faults.writeError = 1;
    long token = store.token();
    store.append(0, small, token);
    assertThat(store.await(token)).isEqualTo(status);
    assertThat(store.log.lines).anyMatch(line -> line.contains("append of") && line.contains(status.name()));
    disk.faults.writeError = 0;
    store.append(0, new TestExtent(2, 1, 10));
    assertThat(store.seal(0)).isEqualTo(StoreStatus.OK);
    reopen();
    assertThat(store.found).extracting(SteppedStore.Found::extent).containsExactly(new TestExtent(2, 1, 10));
  }

  @Test
  void activation_thatTheDeviceRefuses_canBeTriedAgain() {
    disk.faults.writeError = 1;
    assertThat(store.activate(0)).isEqualTo(StoreStatus.IO_ERROR);
    disk.faults.writeError = 0;
    assertThat(store.activate(0)).isEqualTo(StoreStatus.OK);
  }

  @Test
  void seal_thatTheDeviceRefuses_canBeTriedAgain() {
    store.activate(0);
    store.append(0, small);
    disk.faults.writeError = 1;
    assertThat(store.seal(0)).isEqualTo(StoreStatus.IO_ERROR);
    disk.faults.writeError = 0;
    assertThat(store.seal(0)).isEqualTo(StoreStatus.OK);
  }

  @Test
  void afterAFailedSync_nothingIsCalledDurableAndReadsGoOn() {
    store.activate(0);
    int offset = store.append(0, small);
    disk.faults.syncError = 1;
    assertThat(store.seal(0)).isEqualTo(StoreStatus.IO_ERROR);
    disk.faults.syncError = 0;
    assertThat(store.seal(0)).isEqualTo(StoreStatus.IO_ERROR);
    assertThat(store.activate(1)).isEqualTo(StoreStatus.IO_ERROR);
    assertThat(store.read(0, offset, small)).isEqualTo(StoreStatus.OK);
    assertThat(store.log.lines).filteredOn(line -> line.startsWith("ERROR")).hasSize(1);
  }

  @Test
  void shortTransfers_areMadeWhole() {
    disk.faults.shortTransfer = 0.9;
    TestExtent large = new TestExtent(4, 1, 8000);
    store.activate(0);
    int offset = store.append(0, large);
    assertThat(store.read(0, offset, large)).isEqualTo(StoreStatus.OK);
  }

  @Test
  void transferWithoutProgress_isAnError() {
    store.activate(0);
    int offset = store.append(0, small);
    disk.faults.noProgress = 1;
    assertThat(store.read(0, offset, small)).isEqualTo(StoreStatus.IO_ERROR);
  }

  @Test
  void recover_ofUnreadableSegments_reportsThemAndGoesOn() throws IOException {
    store.activate(0);
    store.append(0, small);
    disk = disk.kill();
    disk.faults.readError = 1;
    store = new SteppedStore(disk);
    assertThat(store.states).containsOnly(SegmentState.EMPTY);
    assertThat(store.report.dropped()).isEqualTo(Map.of("unreadable-segment", 3L));
  }

  @Test
  void faults_areLoggedWithinABound() {
    store.activate(0);
    int offset = store.append(0, small);
    disk.faults.readError = 1;
    for (int i = 0; i < 500; i++) {
      assertThat(store.read(0, offset, small)).isEqualTo(StoreStatus.IO_ERROR);
    }
    assertThat(store.log.lines).filteredOn(line -> line.contains("read of")).hasSizeBetween(1, 50);
  }

  // The end.

  @Test
  void close_completesWhatWasSubmittedAndNoMore() {
    store.activate(0);
    long submitted = store.token();
    store.append(0, small, submitted);
    store.store.submit();
    long unsubmitted = store.token();
    store.append(0, small, unsubmitted);
    store.close();
    assertThat(store.completed).containsEntry(submitted, StoreStatus.OK).containsEntry(unsubmitted, StoreStatus.CLOSED);
  }

  @Test
  void close_withASealUnsubmitted_leavesTheSegmentToRecovery() throws IOException {
    store.activate(0);
    store.append(0, small);
    long token = store.token();
    store.store.seal(0, token);
    store.close();
    assertThat(store.completed).containsEntry(token, StoreStatus.CLOSED);
    reopen();
    assertThat(store.found).extracting(SteppedStore.Found::state).containsExactly(SegmentState.UNSEALED);
  }

  @Test
  void recover_intoASinkThatThrows_endsItsReadsFirst() {
    SegmentStore fresh = new SegmentStore(
        SteppedStore.SUPERBLOCK, () -> disk.open(8), new Drops(), () -> { }, new CapturedLog());
    IllegalStateException planted = new IllegalStateException("planted");
    assertThatThrownBy(() -> fresh.recover(new RecoverySink() {
      @Override
      public void segment(int segment, long generation, SegmentState state) {
        throw planted;
      }

      @Override
      public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {}
    })).isSameAs(planted).hasNoSuppressedExceptions();
    fresh.close();
  }

  @Test
  void recoverAndStart_comeInThisOrderAndOnce() {
    SegmentStore fresh = new SegmentStore(
        SteppedStore.SUPERBLOCK, () -> disk.open(4), new Drops(), () -> { }, new CapturedLog());
    assertThatIllegalStateException().isThrownBy(() -> fresh.activate(0, 0));
    assertThatIllegalStateException().isThrownBy(() -> fresh.startWithoutThread((token, status) -> { }))
        .withMessageContaining("not recovered yet");
    fresh.close();
    assertThatThrownBy(() -> store.store.recover(null)).isInstanceOf(IllegalStateException.class);
  }
}
