package io.orbitkv.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.cli.replay.FakeCache.Restores;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.workload.Workload;
import io.orbitkv.cli.workload.WorkloadShape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReplayTest {

  private static final long BLOCK = 4096;
  private static final int LAYERS = 4;

  private final List<String> notes = new ArrayList<>();

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void run_verifiesEveryRestoredByteOfEveryRank(int ranks) throws InterruptedException {
    Workload workload = WorkloadShape.MULTI_TURN.generate(3, 120);

    ReplayReport report = replay(workload, ranks, List.of(), Restores.RIGHT, new CopyingDevice(true));

    assertThat(report.mismatches()).isZero();
    assertThat(report.requests()).isEqualTo(120);
    assertThat(report.blocksQueried()).isEqualTo(workload.blocks());
    assertThat(report.blocksHitDram()).isPositive();
    assertThat(report.blocksHitSsd()).isZero();
    assertThat(report.bytesVerified()).isEqualTo(report.blocksHitDram() * BLOCK);
    assertThat(report.blocksSaved()).isEqualTo(workload.blocks() - report.blocksHitDram());
    assertThat(report.bytesSaved()).isEqualTo(report.blocksSaved() * BLOCK);
    assertThat(report.faults()).containsEntry("fake", 1L);
    assertThat(notes).isEmpty();
  }

  @Test
  void run_servesPromptsLongerThanThePoolInPieces() throws InterruptedException {
    int[] ids = new int[1_300];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = i;
    }
    PrefixChain prompt = PrefixChain.ofTokens(ids, 1);

    ReplayReport report = replay(
        new Workload("long", List.of(prompt, prompt)), 1, List.of(), Restores.RIGHT, new CopyingDevice(true));

    assertThat(report.blocksHitDram()).isEqualTo(1_300);
    assertThat(report.bytesVerified()).isEqualTo(1_300 * BLOCK);
    assertThat(report.mismatches()).isZero();
  }

  @Test
  void run_hitsOnSsdAfterARestart() throws InterruptedException {
    Workload workload = WorkloadShape.MULTI_TURN.generate(3, 120);

    ReplayReport report = replay(workload, 2, List.of(60, 90), Restores.RIGHT, new CopyingDevice(true));

    assertThat(report.restarts()).isEqualTo(2);
    assertThat(report.phases()).extracting(ReplayReport.Phase::requests).containsExactly(60L, 30L, 30L);
    assertThat(report.phases().get(0).blocksHitSsd()).isZero();
    assertThat(report.phases().get(1).blocksHitSsd()).isPositive();
    assertThat(report.phases().get(2).blocksHitSsd()).isPositive();
    assertThat(report.recoveredExtents()).isPositive();
    assertThat(report.mismatches()).isZero();
    assertThat(report.bytesVerified()).isEqualTo((report.blocksHitDram() + report.blocksHitSsd()) * BLOCK);
  }

  static Stream<Named<Restores>> wrongRestores() {
    return Stream.of(
        Named.of("one bit", (cache, chain, block, rank) -> flipped(cache.stored(chain, block, rank), 4095, 0x80)),
        Named.of("the first byte", (cache, chain, block, rank) -> flipped(cache.stored(chain, block, rank), 0, 1)),
        Named.of("another rank's shard", (cache, chain, block, rank) -> cache.stored(chain, block, 1 - rank)),
        Named.of("another block", (cache, chain, block, rank) -> cache.stored(chain, block / 2, rank)),
        Named.of("layers swapped", (cache, chain, block, rank) -> rotated(cache.stored(chain, block, rank), 512)),
        Named.of("words of a page shifted", (cache, chain, block, rank) ->
            rotated(cache.stored(chain, block, rank), 8)));
  }

  @ParameterizedTest
  @MethodSource("wrongRestores")
  void run_findsWrongBytes(Restores wrong) throws InterruptedException {
    ReplayReport report =
        replay(WorkloadShape.MULTI_TURN.generate(3, 40), 2, List.of(), wrong, new CopyingDevice(true));

    assertThat(report.mismatches()).isPositive();
    assertThat(notes)
        .isNotEmpty()
        .hasSizeLessThanOrEqualTo(10)
        .allMatch(note -> note.startsWith("wrong bytes: request"));
  }

  @Test
  void run_findsPagesThatWereNotWritten() throws InterruptedException {
    ReplayReport report =
        replay(WorkloadShape.MULTI_TURN.generate(3, 40), 1, List.of(), Restores.RIGHT, new CopyingDevice(false));

    assertThat(report.mismatches()).isEqualTo(report.blocksHitDram() * LAYERS);
  }

  @Test
  void run_computesAndCountsWhatWasLostBetweenItsHitAndItsRestore() throws InterruptedException {
    Workload workload = WorkloadShape.MULTI_TURN.generate(3, 120);
    FakeCache cache = new FakeCache(new FakeCache.Disk(), Restores.RIGHT);
    // Both ranks' shares of the first hit.
    cache.refuseRestores(2);
    ReplayPlan plan = new ReplayPlan(workload, BLOCK, 2, LAYERS, List.of(), 7);

    ReplayReport report = new Replay(plan, () -> new CacheOpener.Opened(cache, Optional.empty()),
        new CopyingDevice(true), Progress.SILENT, notes::add).run();

    assertThat(report.hitsLost()).isEqualTo(1);
    assertThat(report.blocksLost()).isPositive();
    assertThat(report.bytesVerified()).isEqualTo((report.blocksHitDram() - report.blocksLost()) * BLOCK);
    assertThat(report.mismatches()).isZero();
    assertThat(notes).hasSize(1).allMatch(note -> note.contains("was lost before it was restored"));
  }

  @Test
  void plan_refusesRestartsOutsideTheWorkload() {
    Workload workload = WorkloadShape.LONG_DOC.generate(1, 5);

    assertThatThrownBy(() -> new ReplayPlan(workload, BLOCK, 1, 1, List.of(5), 0))
        .isInstanceOf(RefusedException.class)
        .hasMessage("restart after request 5, expected ascending numbers from 1 to 4, one below the requests of the"
            + " workload");
    assertThatThrownBy(() -> new ReplayPlan(workload, BLOCK, 1, 1, List.of(3, 2), 0))
        .isInstanceOf(RefusedException.class);
  }

  @Test
  void plan_refusesBlocksThatDoNotDivide() {
    Workload workload = WorkloadShape.LONG_DOC.generate(1, 5);

    assertThatThrownBy(() -> new ReplayPlan(workload, 4096, 3, 4, List.of(), 0))
        .isInstanceOf(RefusedException.class)
        .hasMessageStartingWith("block of 4096 bytes, expected a multiple of 96 ");
  }

  private ReplayReport replay(
      Workload workload, int ranks, List<Integer> restartsAt, Restores restores, Device device)
      throws InterruptedException {
    ReplayPlan plan = new ReplayPlan(workload, BLOCK, ranks, LAYERS, restartsAt, 7);
    return new Replay(plan, FakeCache.opener(restores), device, Progress.SILENT, notes::add).run();
  }

  private static MemorySegment flipped(MemorySegment shard, int at, int bit) {
    MemorySegment copy = Arena.ofAuto().allocate(shard.byteSize()).copyFrom(shard);
    long offset = at % shard.byteSize();
    copy.set(ValueLayout.JAVA_BYTE, offset, (byte) (copy.get(ValueLayout.JAVA_BYTE, offset) ^ bit));
    return copy;
  }

  private static MemorySegment rotated(MemorySegment shard, long by) {
    MemorySegment copy = Arena.ofAuto().allocate(shard.byteSize());
    MemorySegment.copy(shard, by, copy, 0, shard.byteSize() - by);
    MemorySegment.copy(shard, 0, copy, shard.byteSize() - by, by);
    return copy;
  }
}
