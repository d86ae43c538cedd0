package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.RecoverySink.SegmentState;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreInspection;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.api.spi.StoreStatus;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Both providers: what they are called, what they take, and that either opens what the other made. */
class StorageBackendTest {

  private static final long CAPACITY = 4 << 20;
  private static final Map<String, String> SETTINGS = Map.of("segment-bytes", "512KiB");

  private final TestExtent sealed = new TestExtent(1, 4, 12_345);
  private final TestExtent unsealed = new TestExtent(2, 1, 70_000);

  @TempDir
  Path parent;

  private void write(StorageBackend backend, Path folder) {
    try (ServedStore store = new ServedStore(backend.open(new StoreOptions(folder, CAPACITY, SETTINGS)))) {
      assertThat(store.activate(3)).isEqualTo(StoreStatus.OK);
      store.append(3, sealed);
      assertThat(store.seal(3)).isEqualTo(StoreStatus.OK);
      assertThat(store.activate(1)).isEqualTo(StoreStatus.OK);
      store.append(1, unsealed);
    }
  }

  @Test
  void bothAreProvided() {
    List<String> provided = UringStorage.class.getModule().getDescriptor().provides().stream()
        .filter(service -> service.service().equals(StorageBackend.class.getName()))
        .map(ModuleDescriptor.Provides::providers)
        .findFirst()
        .orElseThrow();
    assertThat(provided).containsExactlyInAnyOrder(UringStorage.class.getName(), ChannelStorage.class.getName());
    assertThat(new UringStorage().name()).isEqualTo("io_uring");
    assertThat(new ChannelStorage().name()).isEqualTo("file");
  }

  @ParameterizedTest
  @CsvSource({"io_uring, file", "file, io_uring", "io_uring, io_uring"})
  void eitherReadsWhatTheOtherWrote(String writer, String reader) {
    Path folder = parent.resolve("store");
    write(StoreProcess.backend(writer), folder);
    StorageBackend backend = StoreProcess.backend(reader);
    try (ServedStore store = new ServedStore(backend.open(new StoreOptions(folder, CAPACITY, SETTINGS)))) {
      assertThat(store.found()).extracting(ServedStore.Found::extent).containsExactly(sealed, unsealed);
      for (ServedStore.Found extent : store.found()) {
        assertThat(store.read(extent)).isEqualTo(StoreStatus.OK);
      }
      assertThat(store.unsealed()).containsExactly(1);
      assertThat(store.seal(1)).isEqualTo(StoreStatus.OK);
    }
  }

  @Test
  void open_throughThePageCache_worksToo() {
    Path folder = parent.resolve("store");
    StoreOptions options =
        new StoreOptions(folder, CAPACITY, Map.of("direct", "false", "depth", "1", "segment-bytes", "1MiB"));
    try (ServedStore store = new ServedStore(new UringStorage().open(options))) {
      store.activate(0);
      assertThat(store.append(0, sealed)).isEqualTo(1);
      assertThat(store.read(new ServedStore.Found(0, 1, sealed))).isEqualTo(StoreStatus.OK);
    }
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "file     | direct        | true   | store backend 'file' has no setting 'direct'; it has depth, segment-bytes",
    "io_uring | colour        | red    | store backend 'io_uring' has no setting 'colour'; it has depth, direct, segment-bytes",
    "io_uring | depth         | 0      | setting depth is '0', expected a number from 1 to 1024",
    "io_uring | depth         | many   | setting depth is 'many', expected a number from 1 to 1024",
    "io_uring | direct        | yes    | setting direct is 'yes', expected true or false",
    "file     | segment-bytes | 4KiB   | segment-bytes is 4096, expected a multiple of 4096 from 64KiB to 4GiB",
    "file     | segment-bytes | 100000 | segment-bytes is 100000, expected a multiple of 4096 from 64KiB to 4GiB"
  })
  void open_withAWrongSetting_isRefusedAndNothingIsMade(String name, String setting, String value, String message) {
    Path folder = parent.resolve("store");
    StoreOptions options = new StoreOptions(folder, CAPACITY, Map.of(setting, value));
    assertThatThrownBy(() -> StoreProcess.backend(name).open(options))
        .isInstanceOf(RefusedException.class)
        .hasMessage(message);
    assertThat(folder).doesNotExist();
  }

  @Test
  void inspect_ofARunningStore_countsBySegmentAndTouchesNothing() throws IOException {
    Path folder = parent.resolve("store");
    StorageBackend backend = new ChannelStorage();
    write(backend, folder);
    try (ServedStore store = new ServedStore(backend.open(new StoreOptions(folder, CAPACITY, SETTINGS)))) {
      byte[] before = Files.readAllBytes(folder.resolve("extents.orbitkv"));
      StoreInspection inspection = backend.inspect(folder);
      assertThat(inspection.extents()).isEqualTo(2);
      assertThat(inspection.payloadBytes()).isEqualTo(sealed.payloadBytes() + unsealed.payloadBytes());
      assertThat(inspection.dropped()).isEmpty();
      assertThat(inspection.segments()).hasSize(store.geometry().segments())
          .startsWith(
              new StoreInspection.Segment(0, 0, SegmentState.EMPTY, 0, 0),
              new StoreInspection.Segment(1, 2, SegmentState.UNSEALED, 1, unsealed.payloadBytes()),
              new StoreInspection.Segment(2, 0, SegmentState.EMPTY, 0, 0),
              new StoreInspection.Segment(3, 1, SegmentState.SEALED, 1, sealed.payloadBytes()));
      assertThat(inspection.facts()).containsEntry("format version", "1").containsEntry("superblocks", "both intact");
      assertThat(inspection.facts().get("owner")).startsWith("in use by process " + ProcessHandle.current().pid());
      assertThat(Files.readAllBytes(folder.resolve("extents.orbitkv"))).isEqualTo(before);
    }
  }

  @Test
  void inspect_ofADamagedStore_reportsTheDamage() throws IOException {
    Path folder = parent.resolve("store");
    StorageBackend backend = new UringStorage();
    write(backend, folder);
    try (RandomAccessFile file = new RandomAccessFile(folder.resolve("extents.orbitkv").toFile(), "rw")) {
      file.seek(65_536 + 4 * (512 << 10) - 4000);
      file.write(1);
      file.seek(65_536 + (512 << 10) + 50_000);
      file.write(1);
      file.seek(50);
      file.write(1);
      file.setLength(65_536 + 5 * (512 << 10));
    }
    StoreInspection inspection = backend.inspect(folder);
    assertThat(inspection.dropped())
        .containsEntry("damaged-summary", 1L)
        .containsEntry("torn-extent", 1L)
        .containsEntry("unreadable-segment", 2L);
    assertThat(inspection.extents()).isEqualTo(1);
    assertThat(inspection.facts().get("superblocks")).contains("copy 0");
    assertThat(inspection.facts().get("file bytes")).contains("expected");
  }

  @Test
  void inspect_ofSomethingElse_isRefused() {
    assertThatThrownBy(() -> new ChannelStorage().inspect(parent))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("holds no store");
  }
}
