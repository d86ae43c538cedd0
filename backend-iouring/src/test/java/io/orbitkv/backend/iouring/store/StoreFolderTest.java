package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.ChannelFiles;
import io.orbitkv.backend.iouring.file.StoreFile;
import io.orbitkv.backend.iouring.file.StoreFiles;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a folder may hold, and what becomes of it. */
class StoreFolderTest {

  private static final long SEGMENT = 256 << 10;
  private static final Map<String, String> SETTINGS = Map.of("segment-bytes", "256KiB");
  private static final Settings PARSED = new Settings(SEGMENT, 8, false);

  @TempDir
  Path parent;

  private Path folder;
  private Path data;

  @BeforeEach
  void name() {
    folder = parent.resolve("store");
    data = folder.resolve("extents.orbitkv");
  }

  private static long capacity(int segments) {
    return Sizing.footprintBytes(Superblock.PREAMBLE_BYTES + segments * SEGMENT);
  }

  private BlockStore open(long capacity) {
    return open(capacity, SETTINGS);
  }

  private BlockStore open(long capacity, Map<String, String> settings) {
    return new ChannelStorage().open(new StoreOptions(folder, capacity, settings));
  }

  private List<String> entries() throws IOException {
    try (Stream<Path> entries = Files.list(folder)) {
      return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
    }
  }

  private void damage(long position, int value) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(data.toFile(), "rw")) {
      file.seek(position);
      file.write(value);
    }
  }

  // Making.

  @Test
  void open_makesAStoreOfTheCapacityThatIsPrivate() throws IOException {
    try (BlockStore store = open(capacity(4))) {
      assertThat(store.geometry().segments()).isEqualTo(4);
      assertThat(store.geometry().segmentBytes()).isEqualTo(SEGMENT);
      assertThat(entries()).containsExactly("extents.orbitkv", "lock", "owner");
      assertThat(Files.size(data)).isEqualTo(65_536 + 4 * SEGMENT);
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder))).isEqualTo("rwx------");
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(data))).isEqualTo("rw-------");
    }
    assertThat(entries()).containsExactly("extents.orbitkv", "lock");
  }

  @Test
  void open_withTooLittleCapacity_isRefusedWithTheLeast() {
    assertThatThrownBy(() -> open(capacity(2) - 1))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("expected at least " + capacity(2) + " bytes");
    assertThat(folder).doesNotExist();
  }

  @Test
  void open_afterACreationThatDied_startsAnew() throws IOException {
    Files.createDirectories(folder);
    Files.write(folder.resolve("extents.orbitkv.new"), new byte[300_000]);
    try (BlockStore store = open(capacity(2))) {
      assertThat(store.geometry().segments()).isEqualTo(2);
      assertThat(entries()).doesNotContain("extents.orbitkv.new");
    }
  }

  /** Files that fail in one of two ways. */
  private record Failing(String extension, String opening) implements StoreFiles {
    @Override
    public StoreFile open(Path path, int depth) throws IOException {
      if (opening != null) {
        throw new FileSystemException(path.toString(), null, opening);
      }
      return new ChannelFiles(1).open(path, depth);
    }

    @Override
    public void extend(Path path, long bytes) throws IOException {
      if (extension != null) {
        Files.write(path, new byte[100_000]);
        throw new FileSystemException(path.toString(), null, extension);
      }
      StoreFiles.super.extend(path, bytes);
    }
  }

  @Test
  void open_whenTheDiskFillsUp_saysSoAndLeavesNothingBehind() throws IOException {
    StoreOptions options = new StoreOptions(folder, capacity(4), SETTINGS);
    assertThatThrownBy(() -> StoreFolder.open(options, PARSED, new Failing("No space left on device", null)))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("No space left on device")
        .hasMessageContaining(Long.toString(capacity(4)));
    // The empty lock file stays: to remove it could let two owners in.
    assertThat(entries()).containsExactly("lock");
    assertThat(Files.size(folder.resolve("lock"))).isZero();
  }

  @Test
  void open_ofMoreThanTheDiskHas_isRefusedWithBothNumbers() throws IOException {
    long free = Files.getFileStore(parent).getUsableSpace();
    assertThatThrownBy(() -> open(4 * free, Map.of()))
        .isInstanceOf(UnavailableException.class)
        .hasMessageMatching("(?s).*needs \\d+ more bytes of disk and \\d+ are free.*");
    assertThat(entries()).containsExactly("lock");
  }

  @Test
  void open_whenTheWayOfAccessIsRefused_givesTheFolderUp() throws IOException {
    StoreOptions options = new StoreOptions(folder, capacity(4), SETTINGS);
    assertThatThrownBy(() -> StoreFolder.open(options, PARSED, new Failing(null, "Read-only file system")))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("Read-only file system");
    open(capacity(4)).close();
  }

  // Refusing.

  @Test
  void open_ofAFolderWithSomethingElse_isRefusedAndItIsUntouched() throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve("thesis.txt"), "years of work");
    assertThatThrownBy(() -> open(capacity(4)))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("thesis.txt");
    assertThat(entries()).containsExactly("thesis.txt");
  }

  @Test
  void open_ofAFile_isRefused() throws IOException {
    Files.writeString(folder, "a file");
    assertThatThrownBy(() -> open(capacity(4))).isInstanceOf(RefusedException.class).hasMessageContaining("not a folder");
  }

  @Test
  void open_ofADataFileThatIsNone_isRefusedAndItIsUntouched() throws IOException {
    Files.createDirectories(folder);
    Files.writeString(data, "something else under the same name");
    assertThatThrownBy(() -> open(capacity(4)))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("is no store");
    assertThat(data).hasContent("something else under the same name");
    assertThat(entries()).containsExactly("extents.orbitkv");
  }

  @Test
  void open_ofAnotherVersion_isRefusedWithBothAndItIsUntouched() throws IOException {
    open(capacity(2)).close();
    for (long copy : Superblock.COPIES) {
      damage(copy + 8, 2);
    }
    byte[] before = Files.readAllBytes(data);
    assertThatThrownBy(() -> open(capacity(2)))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("format version 2")
        .hasMessageContaining("reads version 1");
    assertThat(Files.readAllBytes(data)).isEqualTo(before);
  }

  @Test
  void open_withBothSuperblocksDamaged_isRefusedAndItIsUntouched() throws IOException {
    open(capacity(2)).close();
    for (long copy : Superblock.COPIES) {
      damage(copy + 100, 1);
    }
    byte[] before = Files.readAllBytes(data);
    assertThatThrownBy(() -> open(capacity(2)))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("both superblocks are damaged");
    assertThat(Files.readAllBytes(data)).isEqualTo(before);
  }

  @Test
  void open_withOneSuperblockDamaged_writesItAnew() throws IOException {
    open(capacity(2)).close();
    for (long copy : Superblock.COPIES) {
      byte[] before = Files.readAllBytes(data);
      damage(copy + 8, 2);
      open(capacity(2)).close();
      assertThat(Arrays.equals(Files.readAllBytes(data), before)).as("copy at %d", copy).isTrue();
    }
  }

  @Test
  void open_withAnotherSegmentSize_isRefusedWithBoth() {
    open(capacity(2)).close();
    assertThatThrownBy(() -> open(capacity(2), Map.of("segment-bytes", "128KiB")))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("262144")
        .hasMessageContaining("131072");
    open(capacity(2), Map.of()).close();
  }

  @Test
  void open_withLessCapacity_isRefusedWithBoth() {
    open(capacity(4)).close();
    assertThatThrownBy(() -> open(capacity(4) - 1))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining(Long.toString(capacity(4)))
        .hasMessageContaining(Long.toString(capacity(4) - 1));
    open(capacity(4)).close();
  }

  // Growing and mending.

  @Test
  void open_withMoreCapacity_growsAndKeepsWhatThereIs() throws IOException {
    TestExtent extent = new TestExtent(1, 2, 9000);
    try (ServedStore store = new ServedStore(open(capacity(2)))) {
      store.activate(1);
      store.append(1, extent);
      store.seal(1);
    }
    try (ServedStore store = new ServedStore(open(capacity(5)))) {
      assertThat(store.geometry().segments()).isEqualTo(5);
      assertThat(store.found()).extracting(ServedStore.Found::extent).containsExactly(extent);
      assertThat(store.activate(4)).isEqualTo(StoreStatus.OK);
    }
    assertThat(Files.size(data)).isEqualTo(65_536 + 5 * SEGMENT);
    try (ServedStore store = new ServedStore(open(capacity(5)))) {
      assertThat(store.found()).extracting(ServedStore.Found::extent).containsExactly(extent);
    }
  }

  @Test
  void open_afterAGrowthThatDied_growsAgain() throws IOException {
    open(capacity(2)).close();
    byte[] small = Files.readAllBytes(data);
    // Died with the blocks there and no superblock written; then with one of them.
    Files.write(data, Arrays.copyOf(small, small.length + (int) SEGMENT + 4096));
    open(capacity(2)).close();
    assertThat(Files.size(data)).isEqualTo(small.length);
    open(capacity(3)).close();
    byte[] grown = Files.readAllBytes(data);
    System.arraycopy(small, 32_768, grown, 32_768, 4096);
    Files.write(data, grown);
    try (BlockStore store = open(capacity(3))) {
      assertThat(store.geometry().segments()).isEqualTo(3);
    }
  }

  @Test
  void open_ofATruncatedFile_losesWhatWasCutAndNoMore() throws IOException {
    TestExtent kept = new TestExtent(1, 2, 9000);
    TestExtent torn = new TestExtent(2, 1, 20_000);
    TestExtent cut = new TestExtent(3, 1, 9000);
    try (ServedStore store = new ServedStore(open(capacity(3)))) {
      store.activate(0);
      store.append(0, kept);
      store.append(0, torn);
      store.seal(0);
      store.activate(2);
      store.append(2, cut);
      store.seal(2);
    }
    long inTheMiddleOfTorn = 65_536 + 4096 + kept.recordBytes() + 8192;
    try (RandomAccessFile file = new RandomAccessFile(data.toFile(), "rw")) {
      file.setLength(inTheMiddleOfTorn);
    }
    try (ServedStore store = new ServedStore(open(capacity(3)))) {
      assertThat(store.found()).extracting(ServedStore.Found::extent).containsExactly(kept);
      RecoveryReport report = store.report();
      assertThat(report.dropped()).isEqualTo(Map.of("truncated-segment", 3L, "torn-extent", 1L));
      assertThat(store.activate(2)).isEqualTo(StoreStatus.OK);
    }
    assertThat(Files.size(data)).isEqualTo(65_536 + 3 * SEGMENT);
  }

  // Owning.

  @Test
  void open_twiceInOneProcess_isRefusedByNameAndTheFirstKeepsTheFolder() throws IOException {
    try (BlockStore first = open(capacity(2))) {
      for (int attempt = 0; attempt < 2; attempt++) {
        assertThatThrownBy(() -> open(capacity(2)))
            .isInstanceOf(UnavailableException.class)
            .hasMessageContaining("in use by this very process, process " + ProcessHandle.current().pid());
      }
      assertThat(first.geometry().segments()).isEqualTo(2);
    }
    open(capacity(2)).close();
  }

  @Test
  void open_withTheNoteOfADeadProcess_takesOver() throws IOException {
    open(capacity(2)).close();
    Files.write(folder.resolve("owner"),
        List.of(Long.toString(ProcessHandle.current().pid()), "2001-01-01T00:00:00Z", "an older process of this number"));
    open(capacity(2)).close();
  }

  @Test
  void open_withoutPermission_saysWhere() throws IOException {
    StoreOptions options = new StoreOptions(Path.of("/proc/orbitkv"), capacity(2), SETTINGS);
    assertThatThrownBy(() -> new ChannelStorage().open(options))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("/proc/orbitkv");
  }
}
