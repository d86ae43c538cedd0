package io.orbitkv.backend.gpu.cuda.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import io.orbitkv.backend.gpu.cuda.driver.Driver;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class CudaDeviceTest {

  /** Four layers of 8 pages of 4 KiB, layer behind layer. */
  private static final PageLayout LAYERS = new PageLayout(4, 8, 4096, 8 * 4096, 4096);

  private static final PoolLayout LAYOUT = PoolLayout.of(LAYERS);
  private static final long HOST_BYTES = 2 << 20;
  private static final VarHandle GATE = ValueLayout.JAVA_INT.varHandle();

  @TempDir
  private Path folder;

  private final FakeDriver driver = new FakeDriver();
  private final Arena arena = Arena.ofShared();
  private final MemorySegment pool = arena.allocate(LAYOUT.poolBytes(), 16);
  private final MemorySegment host = arena.allocate(HOST_BYTES, 4096);
  private final List<String> ends = new ArrayList<>();
  private Device device;
  private HostRegion region;

  @BeforeEach
  void openDevice() {
    reopen(Map.of());
  }

  private void reopen(Map<String, String> settings) {
    closeDevice();
    Map<String, String> all = new HashMap<>(settings);
    all.put("driver", FakeDriver.LIBRARY);
    device = new CudaDevice(Driver.load(FakeDriver.LIBRARY).open(0), Settings.of(all), ends::add);
    region = device.hostMemory(host);
    ((PinnedMemory) region).awaitPinned();
  }

  private void closeDevice() {
    if (device != null) {
      region.close();
      device.close();
    }
  }

  @AfterEach
  void close() {
    driver.release();
    if (ends.isEmpty()) {
      closeDevice();
    }
    driver.close();
    arena.close();
  }

  private EnginePages open(boolean fenced) {
    return device.open(driver.export(fenced, pool), LAYOUT);
  }

  private MemorySegment[] shards(int count) {
    return IntStream.range(0, count).mapToObj(i -> host.asSlice((long) i * 16384, 16384))
        .toArray(MemorySegment[]::new);
  }

  private byte poolByte(int layer, int page) {
    return pool.get(ValueLayout.JAVA_BYTE, LAYERS.offset(layer, page) + 4095);
  }

  @Test
  void whatIsEnqueued_isNotDrained() {
    try (EnginePages pages = open(false)) {
      driver.hold();
      host.fill((byte) 7);
      Transfer load = device.restore(pages, new int[] {3}, shards(1));
      Transfer save = device.save(pages, new int[] {4}, new MemorySegment[] {host.asSlice(1 << 20, 16384)});
      assertThat(load.enqueued()).isTrue();
      assertThat(load.drained() || load.layerReady(0) || save.drained() || save.layerReady(0)).isFalse();
      assertThat(load.failure()).isEmpty();
      assertThatThrownBy(() -> save.checksum(0)).isInstanceOf(IllegalStateException.class);
      driver.release();
      load.awaitDrained();
      save.awaitDrained();
      assertThat(load.drained() && load.layerReady(3) && save.drained() && save.layerReady(0)).isTrue();
      assertThat(poolByte(3, 3)).isEqualTo((byte) 7);
      assertThat(poolByte(3, 4)).isZero();
    }
  }

  @Test
  void aBand_isReadyBeforeTheNext() {
    reopen(Map.of("bands", "2"));
    try (EnginePages pages = open(false)) {
      host.fill((byte) 7);
      Transfer load = device.restore(pages, IntStream.range(0, 8).toArray(), shards(8));
      while (!load.layerReady(0)) {
        Thread.onSpinWait();
      }
      for (int page = 0; page < 8; page++) {
        assertThat(poolByte(1, page)).isEqualTo((byte) 7);
      }
      assertThat(load.layerReady(1)).isTrue();
      load.awaitDrained();
      assertThat(load.layerReady(3)).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"direct", "kernel"})
  void aGate_isRaisedBehindItsBand_andNotBefore(String mode) throws IOException {
    reopen(Map.of("loads", mode));
    Path file = gates(2);
    MemorySegment gates = mapped(file);
    try (EnginePages pages = device.open(driver.exportWithGates(2, file, pool), LAYOUT)) {
      host.fill((byte) 7);
      Transfer load = device.restore(pages, IntStream.range(0, 8).toArray(), shards(8), 5);
      assertThat(gate(gates, 0)).isZero();
      while (gate(gates, 0) == 0) {
        assertThat(gate(gates, 1)).isZero();
        load.layerReady(0);
      }
      assertThat(gate(gates, 0)).isEqualTo(5);
      for (int page = 0; page < 8; page++) {
        assertThat(poolByte(0, page) + poolByte(1, page)).isEqualTo(14);
      }
      load.awaitDrained();
      assertThat(gate(gates, 1)).isEqualTo(5);
      Transfer unmarked = device.restore(pages, new int[] {1}, shards(1));
      unmarked.awaitDrained();
      assertThat(gate(gates, 0) + gate(gates, 1)).isEqualTo(10);
    }
  }

  @Test
  void gatesOfALoadThatFailed_areRaised() throws IOException {
    Path file = gates(4);
    MemorySegment gates = mapped(file);
    try (EnginePages pages = device.open(driver.exportWithGates(4, file, pool), LAYOUT)) {
      driver.failCopies();
      Transfer load = device.restore(pages, new int[] {1}, shards(1), -1);
      driver.mend();
      load.awaitDrained();
      assertThat(load.failure()).isPresent();
      assertThat(IntStream.range(0, 4).map(i -> gate(gates, i))).containsOnly(-1);
    }
  }

  @Test
  void gatesThatAreNotWhatWasStated_areRefused() throws IOException {
    Path file = gates(4);
    long live = driver.live();
    assertMemoryRefused(driver.exportWithGates(5, file, pool), "5 gates for 4 layers");
    assertMemoryRefused(driver.exportWithGates(4, Files.write(file, new byte[15]), pool), "have 15 bytes");
    assertMemoryRefused(driver.exportWithGates(4, file.resolveSibling("none"), pool), "cannot be opened");
    Path link = Files.createSymbolicLink(file.resolveSibling("link"), gates(4));
    assertMemoryRefused(driver.exportWithGates(4, link, pool), "cannot be opened");
    assertMemoryRefused(driver.exportWithGates(0, file, pool), "number '0'");
    assertMemoryRefused(driver.exportWithGates(4, Path.of(""), pool), "gates");
    driver.pins(0);
    assertThatThrownBy(() -> device.open(driver.exportWithGates(4, gates(4), pool), LAYOUT))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("pinning");
    driver.pins(-1);
    device.open(driver.exportWithGates(4, file, pool), LAYOUT).close();
    assertThat(driver.live()).isEqualTo(live);
  }

  private Path gates(int count) throws IOException {
    return Files.write(folder.resolve("gates"), new byte[count * Integer.BYTES]);
  }

  private MemorySegment mapped(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
    }
  }

  private static int gate(MemorySegment gates, int index) {
    return (int) GATE.getAcquire(gates, (long) index * Integer.BYTES);
  }

  @Test
  void drainedIsSeen_byWhoeverAsks() {
    try (EnginePages pages = open(false)) {
      Transfer load = device.restore(pages, new int[] {3}, shards(1));
      while (!load.drained()) {
        Thread.onSpinWait();
      }
      load.awaitDrained();
      assertThat(load.failure()).isEmpty();
      assertThatThrownBy(() -> load.checksum(0)).isInstanceOf(IllegalStateException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"direct", "kernel"})
  void copies_waitForTheEnginesEvent(String mode) {
    reopen(Map.of("loads", mode, "saves", mode));
    try (EnginePages pages = open(true)) {
      host.fill((byte) 7);
      driver.record();
      Transfer load = device.restore(pages, new int[] {3}, shards(1));
      MemorySegment saved = host.asSlice(1 << 20, 16384);
      Transfer save = device.save(pages, new int[] {5}, new MemorySegment[] {saved});
      for (int i = 0; i < 1000; i++) {
        assertThat(load.drained() || save.drained()).isFalse();
      }
      assertThat(poolByte(0, 3)).isZero();
      assertThat(saved.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 7);
      driver.complete();
      save.awaitDrained();
      load.awaitDrained();
      assertThat(poolByte(3, 3)).isEqualTo((byte) 7);
      assertThat(saved.get(ValueLayout.JAVA_BYTE, 0)).isZero();
    }
  }

  @Test
  void loads_doNotWaitForLaterWorkOfTheEngine() {
    try (EnginePages pages = open(true)) {
      host.fill((byte) 7);
      driver.record();
      Transfer load = device.restore(pages, new int[] {3}, shards(1));
      driver.complete();
      driver.record();
      load.awaitDrained();
      assertThat(poolByte(3, 3)).isEqualTo((byte) 7);
    }
  }

  @Test
  void aSave_waitsOnTheGpuIfTheEngineNeverPauses() {
    try (EnginePages pages = open(true)) {
      driver.record();
      Transfer save = device.save(pages, new int[] {5}, shards(1));
      while (!save.enqueued()) {
        Thread.onSpinWait();
      }
      driver.complete();
      driver.record();
      save.awaitDrained();
      assertThat(save.failure()).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"direct", "kernel"})
  void refusedCopies_failTheirTransferAndNoOther(String mode) {
    reopen(Map.of("loads", mode, "saves", mode));
    try (EnginePages pages = open(false)) {
      driver.failCopies();
      Transfer load = device.restore(pages, new int[] {3}, shards(1));
      Transfer save = device.save(pages, new int[] {4}, shards(1));
      load.awaitDrained();
      save.awaitDrained();
      assertThat(load.failure()).get().asString().contains("enqueuing copies failed with CUDA_ERROR (1)");
      assertThat(save.failure()).isPresent();
      assertThat(load.layerReady(0) || save.layerReady(0)).isFalse();
      assertThatThrownBy(() -> save.checksum(0)).hasMessageContaining("the save failed");
    }
    driver.mend();
    try (EnginePages pages = open(false)) {
      Transfer load = device.restore(pages, new int[] {3}, shards(1));
      load.awaitDrained();
      assertThat(load.failure()).isEmpty();
    }
  }

  @Test
  void aLostContext_endsTheProcess() {
    EnginePages pages = open(false);
    driver.hold();
    Transfer load = device.restore(pages, new int[] {3}, shards(1));
    driver.loseContext();
    assertThatThrownBy(load::awaitDrained).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(load::drained).isInstanceOf(IllegalStateException.class);
    assertThat(ends).first().asString().contains("CUDA_ERROR_LAUNCH_FAILED (719)");
  }

  @Test
  void anEventOfAKilledEngine_endsTheProcess() {
    reopen(Map.of("drain-seconds", "1"));
    EnginePages pages = open(true);
    driver.record();
    Transfer load = device.restore(pages, new int[] {3}, shards(1));
    assertThatThrownBy(load::awaitDrained).isInstanceOf(IllegalStateException.class);
    assertThat(ends).singleElement().asString().contains("did not end in 1 s");
  }

  @Test
  void copiesThatWaitForAnEngineThatHasEnded_endTheProcess() throws Exception {
    Process engine = new ProcessBuilder("sleep", "60").start();
    String memory = driver.export(true, pool).replace(
        ":" + ProcessHandle.current().pid() + ":", ":" + engine.pid() + ":");
    EnginePages pages = device.open(memory, LAYOUT);
    driver.record();
    Transfer load = device.restore(pages, new int[] {3}, shards(1));
    engine.destroyForcibly().waitFor();
    assertThatThrownBy(load::awaitDrained).isInstanceOf(IllegalStateException.class);
    assertThat(ends).singleElement().asString().contains("the engine whose work they wait for has ended");
  }

  @Test
  void closing_waitsForWhatIsUnderWay() {
    EnginePages pages = open(false);
    host.fill((byte) 7);
    Transfer load = device.restore(pages, new int[] {3}, shards(1));
    Transfer save = device.save(pages, new int[] {4}, new MemorySegment[] {host.asSlice(1 << 20, 16384)});
    load.awaitDrained();
    save.awaitDrained();
    pages.close();
    region.close();
    device.close();
    assertThat(load.drained() && save.drained()).isTrue();
    assertThat(poolByte(3, 3)).isEqualTo((byte) 7);
    assertThatThrownBy(() -> open(false)).isInstanceOf(ClosedException.class);
    assertThatThrownBy(() -> device.hostMemory(host)).isInstanceOf(ClosedException.class);
    reopen(Map.of());
  }

  @Test
  void memoryThatIsNotPinned_isSaidAndNotUsed() {
    try (EnginePages pages = open(false)) {
      driver.pins(0);
      MemorySegment other = arena.allocate(HOST_BYTES, 4096);
      HostRegion late = device.hostMemory(other);
      MemorySegment[] shards = {other.asSlice(0, 16384)};
      assertThatThrownBy(() -> device.restore(pages, new int[] {3}, shards)).isInstanceOf(UnavailableException.class)
          .hasMessageContaining("shard 0 is not pinned yet: 0 of 2097152 bytes are");
      driver.pins(-1);
      ((PinnedMemory) late).awaitPinned();
      device.restore(pages, new int[] {3}, shards).awaitDrained();
      late.close();
      assertThatThrownBy(() -> device.save(pages, new int[] {3}, shards)).isInstanceOf(RefusedException.class)
          .hasMessageContaining("memory that device cuda was not told of");
    }
  }

  @ParameterizedTest
  @CsvSource({
    // Layers that lie apart are one copy a block; beyond the driver's pitch, a sliced one.
    "4, 4096, 65536, 4096, 3, STRIDED",
    "4, 4096, 2097152, 4096, 3, SLICED",
    // Large pieces go in a batch, and so do blocks in one piece.
    "2, 262144, 2097152, 262144, 1, BATCH",
    "2, 32768, 524288, 32768, 1, BATCH",
    "4, 4096, 4096, 20480, 1, BATCH"
  })
  void copyEngines_areUsedAsTheLayoutAllows(
      int layers, int bytes, long layerStride, long pageStride, int calls, FakeDriver.Call kind) {
    PoolLayout layout = PoolLayout.of(new PageLayout(layers, 8, bytes, layerStride, pageStride));
    MemorySegment large = arena.allocate(layout.poolBytes(), 16);
    MemorySegment[] shards = IntStream.range(0, 3)
        .mapToObj(i -> host.asSlice((long) i * layout.shardBytes(), layout.shardBytes())).toArray(MemorySegment[]::new);
    try (EnginePages pages = device.open(driver.export(false, large), layout)) {
      long before = driver.calls(kind);
      device.restore(pages, new int[] {6, 1, 4}, shards).awaitDrained();
      assertThat(driver.calls(kind) - before).isEqualTo(calls);
      assertThat(driver.calls(FakeDriver.Call.LAUNCH)).isZero();
    }
  }

  @Test
  void pagesThatContinueEachOther_areOneCopy() {
    PoolLayout layout = PoolLayout.of(new PageLayout(1, 8, 4096, 8 * 4096, 4096));
    MemorySegment[] shards =
        IntStream.range(0, 3).mapToObj(i -> host.asSlice(i * 4096L, 4096)).toArray(MemorySegment[]::new);
    try (EnginePages pages = device.open(driver.export(false, pool), layout)) {
      long before = driver.calls(FakeDriver.Call.SINGLE);
      device.restore(pages, new int[] {2, 3, 4}, shards).awaitDrained();
      assertThat(driver.calls(FakeDriver.Call.SINGLE) - before).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @CsvSource({"1, 2", "2, 4", "5, 10"})
  void keysAndValuesInTurns_areTwoCopiesOfABlockInEachBand(int bands, int calls) {
    reopen(Map.of("bands", String.valueOf(bands)));
    PoolLayout layout = keysAndValues(10, 4096);
    MemorySegment buffers = arena.allocate(layout.poolBytes(), 16);
    try (EnginePages pages = device.open(driver.export(false, buffers), layout)) {
      host.fill((byte) 3);
      long before = driver.calls(FakeDriver.Call.STRIDED);
      long single = driver.calls(FakeDriver.Call.SINGLE);
      device.restore(pages, new int[] {6}, new MemorySegment[] {host.asSlice(0, layout.shardBytes())}).awaitDrained();
      assertThat(driver.calls(FakeDriver.Call.STRIDED) - before).isEqualTo(calls);
      assertThat(driver.calls(FakeDriver.Call.SINGLE)).isEqualTo(single);
    }
    for (PageLayout buffer : layout.groups()) {
      long page = buffer.offset(0, 6);
      assertThat(buffers.asSlice(page, 4096).toArray(ValueLayout.JAVA_BYTE)).containsOnly(3);
      assertThat(buffers.get(ValueLayout.JAVA_BYTE, page + 4096)).isZero();
    }
  }

  @Test
  void layersWithAnAllocationEach_areABatch_howeverTheyLie() {
    PoolLayout layout = new PoolLayout(IntStream.range(0, 6)
        .mapToObj(i -> new PageLayout(8L * 4096 * i, 1, 8, 4096, 8 * 4096, 4096)).toList());
    // Behind one another, with a gap in the middle.
    MemorySegment all = arena.allocate(14 * 4096 * 6, 16);
    MemorySegment[] buffers = IntStream.range(0, 6)
        .mapToObj(i -> all.asSlice(8L * 4096 * i + (i < 3 ? 0 : 4096), 8 * 4096)).toArray(MemorySegment[]::new);
    try (EnginePages pages = device.open(driver.export(false, buffers), layout)) {
      host.fill((byte) 3);
      long before = driver.calls(FakeDriver.Call.BATCH);
      Transfer load = device.restore(pages, new int[] {6}, new MemorySegment[] {host.asSlice(0, layout.shardBytes())});
      load.awaitDrained();
      assertThat(load.failure()).isEmpty();
      assertThat(driver.calls(FakeDriver.Call.BATCH) - before).isEqualTo(1);
    }
    for (MemorySegment buffer : buffers) {
      assertThat(buffer.asSlice(6 * 4096, 4096).toArray(ValueLayout.JAVA_BYTE)).containsOnly(3);
    }
  }

  @Test
  void aShardLargerThanAllRoomForSaves_isSaved() {
    reopen(Map.of("save-portion", "1MiB", "save-portions", "1"));
    PoolLayout layout = PoolLayout.of(new PageLayout(3, 2, 512 << 10, 1 << 20, 512 << 10));
    MemorySegment large = arena.allocate(layout.poolBytes(), 16);
    large.fill((byte) 9);
    MemorySegment shard = host.asSlice(0, layout.shardBytes());
    try (EnginePages pages = device.open(driver.export(false, large), layout)) {
      for (int page = 0; page < 2; page++) {
        shard.fill((byte) 0);
        Transfer save = device.save(pages, new int[] {page}, new MemorySegment[] {shard});
        save.awaitDrained();
        assertThat(save.failure()).isEmpty();
        assertThat(shard.get(ValueLayout.JAVA_BYTE, layout.shardBytes() - 1L)).isEqualTo((byte) 9);
      }
    }
  }

  @Test
  void manyPieces_areAskedForByTwoThreads_andOneTransfer() {
    int layers = 100;
    PoolLayout layout = new PoolLayout(IntStream.range(0, layers)
        .mapToObj(i -> new PageLayout(8L * 1024 * i, 1, 8, 1024, 8 * 1024, 1024)).toList());
    MemorySegment[] buffers =
        IntStream.range(0, layers).mapToObj(i -> arena.allocate(8 * 1024, 16)).toArray(MemorySegment[]::new);
    MemorySegment[] shards = IntStream.range(0, 6)
        .mapToObj(i -> host.asSlice((long) i * layout.shardBytes(), layout.shardBytes()))
        .toArray(MemorySegment[]::new);
    try (EnginePages pages = device.open(driver.export(true, buffers), layout)) {
      for (int i = 0; i < 6; i++) {
        shards[i].fill((byte) (i + 1));
      }
      driver.record();
      long before = driver.calls(FakeDriver.Call.BATCH);
      Transfer load = device.restore(pages, new int[] {6, 1, 4, 0, 3, 7}, shards);
      // Two halves of 300 pieces, 256 of them at once.
      assertThat(driver.calls(FakeDriver.Call.BATCH) - before).isEqualTo(4);
      for (int i = 0; i < 1000; i++) {
        assertThat(load.drained()).isFalse();
      }
      driver.complete();
      load.awaitDrained();
      assertThat(load.failure()).isEmpty();
      for (MemorySegment buffer : buffers) {
        assertThat(IntStream.range(0, 8).map(page -> buffer.get(ValueLayout.JAVA_BYTE, page * 1024L + 1023)))
            .containsExactly(4, 2, 0, 5, 3, 0, 1, 6);
      }
      driver.failCopies();
      Transfer failed = device.restore(pages, new int[] {6, 1, 4, 0, 3, 7}, shards);
      driver.mend();
      failed.awaitDrained();
      assertThat(failed.failure()).get().asString().contains("enqueuing copies failed with CUDA_ERROR (1)");
    }
  }

  /** Buffers of 8 pages, those of keys before those of values, in the order of their layers. */
  private static PoolLayout keysAndValues(int layers, int bytes) {
    long apart = 9L * bytes;
    return new PoolLayout(IntStream.range(0, 2 * layers)
        .mapToObj(i -> new PageLayout((i / 2 + i % 2 * layers) * apart, 1, 8, bytes, apart, bytes)).toList());
  }

  @Test
  void aPoolOfSeveralAllocations_isOne() {
    PoolLayout layout = new PoolLayout(List.of(
        new PageLayout(0, 1, 8, 4096, 32768, 4096), new PageLayout(32768, 1, 8, 4096, 32768, 4096)));
    MemorySegment first = arena.allocate(8 * 4096, 16);
    MemorySegment second = arena.allocate(8 * 4096, 16);
    first.fill((byte) 1);
    second.fill((byte) 2);
    MemorySegment shard = host.asSlice(0, 8192);
    try (EnginePages pages = device.open(driver.export(false, first, second), layout)) {
      device.save(pages, new int[] {5}, new MemorySegment[] {shard}).awaitDrained();
    }
    assertThat(shard.get(ValueLayout.JAVA_BYTE, 4095)).isEqualTo((byte) 1);
    assertThat(shard.get(ValueLayout.JAVA_BYTE, 4096)).isEqualTo((byte) 2);
    assertRefused(() -> device.open(driver.export(false, first, second), PoolLayout.of(
        new PageLayout(1, 16, 4096, 16 * 4096, 4096))), "do not lie in one of its 2 parts");
  }

  @Test
  void auto_measuresTheLayoutAndNeverSavesByKernel() {
    reopen(Map.of("loads", "auto", "saves", "auto"));
    PoolLayout layout = PoolLayout.of(new PageLayout(64, 8, 16384, 8 * 16384, 16384));
    MemorySegment large = arena.allocate(layout.poolBytes(), 16);
    try (EnginePages pages = device.open(driver.export(false, large), layout)) {
      assertThat(driver.calls(FakeDriver.Call.LAUNCH)).isPositive();
      assertThat(driver.calls(FakeDriver.Call.STRIDED)).isPositive();
      long launches = driver.calls(FakeDriver.Call.LAUNCH);
      device.save(pages, new int[] {3}, new MemorySegment[] {host.asSlice(0, layout.shardBytes())}).awaitDrained();
      assertThat(driver.calls(FakeDriver.Call.LAUNCH)).isEqualTo(launches);
    }
  }

  @Test
  void mistakes_areRefusedBeforeAByteMoves() {
    EnginePages pages = open(false);
    MemorySegment[] two = shards(2);
    assertRefused(() -> device.restore(pages, new int[] {0, 8}, two), "page 8 of block 1 is not in 0 to 7");
    assertRefused(() -> device.restore(pages, new int[] {3, 3}, two), "page 3 is the target of two blocks");
    assertRefused(() -> device.restore(pages, new int[] {0}, two), "1 pages and 2 shards");
    assertRefused(() -> device.save(pages, new int[] {0}, new MemorySegment[] {two[0].asReadOnly()}), "read-only");
    assertRefused(() -> device.save(pages, new int[] {0}, new MemorySegment[] {host.asSlice(0, 16383)}),
        "16383 bytes of native memory, expected native memory of 16384");
    assertRefused(() -> device.save(pages, new int[] {0},
        new MemorySegment[] {MemorySegment.ofArray(new byte[16384])}), "on the heap");
    assertThat(driver.calls(FakeDriver.Call.STRIDED)).isZero();
    pages.close();
    assertThatThrownBy(() -> device.restore(pages, new int[] {0}, shards(1))).isInstanceOf(ClosedException.class);
    assertRefused(() -> device.pages(LAYOUT, pool), "use device cpu");
  }

  @Test
  void memoryThatIsNotTheEngines_isRefused() {
    String handle = FakeDriver.handle(pool.address(), pool.byteSize());
    String uuid = FakeDriver.UUID;
    assertMemoryRefused("/dev/shm/pool", "'/dev/shm/pool': that is not as in cuda-ipc:UUID:PID:EVENT[,GATES,FILE]:HANDLE,");
    assertMemoryRefused("cuda-ipc:" + uuid + ":1:-", "is not as in");
    assertMemoryRefused("cuda-ipc:GPU-1:1:-:" + handle + ",0,1", "UUID 'GPU-1'");
    assertMemoryRefused("cuda-ipc:" + uuid + ":1:-:abc,0,1", "handle 'abc' is not 128 hexadecimal digits");
    assertMemoryRefused("cuda-ipc:" + uuid + ":1:-:" + handle + ",0", "part '" + handle + ",0'");
    assertMemoryRefused("cuda-ipc:" + uuid + ":1:-:" + handle + ",-1,4096", "number '-1'");
    assertMemoryRefused("cuda-ipc:" + uuid + ":1:-:" + handle + ",0,4096", "4096 bytes, expected at least 131072");
    assertMemoryRefused("cuda-ipc:" + uuid + ":1:-:" + handle + ",4096,131072",
        "bytes 4096 to 135168 are not all in the engine's allocation of 131072");
    assertMemoryRefused("cuda-ipc:" + "b0".repeat(16) + ":1:-:" + handle + ",0,131072", "does not see");
    driver.devices(2);
    assertMemoryRefused("cuda-ipc:" + "a1".repeat(16) + ":1:-:" + handle + ",0,131072", "open ordinal 1");
  }

  private void assertMemoryRefused(String memory, String message) {
    long live = driver.live();
    assertRefused(() -> device.open(memory, LAYOUT), message);
    assertThat(driver.live()).isEqualTo(live);
  }

  @Test
  void machinesWithoutADriverOrAGpu_sayWhatIsMissing() {
    CudaBackend backend = new CudaBackend();
    assertThatThrownBy(() -> backend.open(new DeviceOptions(0, Map.of("driver", "/nonexistent/libcuda.so.1"))))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("device cuda has no driver here: /nonexistent/libcuda.so.1: cannot open shared object")
        .hasMessageContaining("install NVIDIA's driver");
    assertThatThrownBy(() -> backend.open(new DeviceOptions(0, Map.of("driver", "libc.so.6"))))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("it has no function cuInit");
    assertThatThrownBy(() -> backend.open(new DeviceOptions(3, Map.of("driver", FakeDriver.LIBRARY))))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("there is no GPU 3: this process sees 1");
    driver.devices(0);
    assertThatThrownBy(() -> backend.open(new DeviceOptions(0, Map.of("driver", FakeDriver.LIBRARY))))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected")
        .hasMessageContaining("nvidia-smi");
    driver.devices(1);
  }

  @Test
  void wrongSettings_areRefused() {
    CudaBackend backend = new CudaBackend();
    assertRefused(() -> backend.open(new DeviceOptions(0, Map.of("colour", "red"))), "[colour]");
    assertRefused(() -> backend.open(new DeviceOptions(0, Map.of("loads", "fast"))), "'fast', expected direct, kernel");
    assertRefused(() -> backend.open(new DeviceOptions(0, Map.of("bands", "0"))), "'0', expected 1 to 512");
    assertRefused(() -> backend.open(new DeviceOptions(0, Map.of("pin-chunk", "4KiB"))), "4KiB, expected");
  }

  private static void assertRefused(ThrowingCallable call, String message) {
    assertThatThrownBy(call).isInstanceOf(RefusedException.class).hasMessageContaining(message);
  }
}
