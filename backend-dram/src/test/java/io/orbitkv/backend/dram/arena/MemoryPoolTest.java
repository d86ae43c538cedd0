package io.orbitkv.backend.dram.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What both kinds of memory promise, and what a shared one promises besides. */
class MemoryPoolTest {

  private static final long MIB = 1 << 20;
  private static final Map<String, String> SMALL_SLABS = Map.of("slab-bytes", "2MiB");

  @TempDir(factory = SharedMemoryFolder.class)
  private Path folder;

  static List<HostMemory> kinds() {
    return List.of(new SharedMemory(), new PrivateMemory());
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void allocatesAtOnceAndBecomesWholeInTheBackground(HostMemory memory) {
    try (MemoryPool pool = memory.open(new MemoryOptions(15 * MIB + 4097, folder, SMALL_SLABS))) {
      assertThat(pool.capacityBytes()).isEqualTo(15 * MIB + 4096);
      assertThat(pool.readyBytes()).isGreaterThanOrEqualTo(2 * MIB);
      long first = pool.allocate(2 * MIB);
      assertThat(first).isZero();
      awaitWhole(pool);
      assertThat(pool.largestFreeBytes()).isEqualTo(13 * MIB + 4096);
      long rest = pool.allocate(13 * MIB + 1);
      assertThat(rest).as("an extent over many slabs").isEqualTo(2 * MIB);
      assertThat(pool.allocatedBytes()).isEqualTo(15 * MIB + 4096);
      assertThat(pool.allocate(1)).isEqualTo(MemoryPool.NONE);
      fillAndCheck(pool, first, 2 * MIB);
      fillAndCheck(pool, rest, 13 * MIB + 1);
      pool.free(first);
      assertThatThrownBy(() -> pool.free(first)).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> pool.free(rest + 1)).isInstanceOf(IllegalStateException.class);
      pool.free(rest);
      assertThat(pool.allocatedBytes()).isZero();
      assertThat(pool.largestFreeBytes()).isEqualTo(pool.capacityBytes());
      assertThat(pool.allocate(Long.MAX_VALUE)).isEqualTo(MemoryPool.NONE);
    }
  }

  private static void fillAndCheck(MemoryPool pool, long offset, long bytes) {
    MemorySegment extent = pool.slice(offset, bytes);
    assertThat(extent.byteSize()).isEqualTo(bytes);
    extent.fill((byte) 7);
    assertThat(extent.get(ValueLayout.JAVA_BYTE, bytes - 1)).isEqualTo((byte) 7);
    assertThat(pool.regions().getFirst().get(ValueLayout.JAVA_BYTE, offset)).isEqualTo((byte) 7);
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void neverGrantsMemoryThatIsNotReady(HostMemory memory) {
    try (MemoryPool pool = memory.open(new MemoryOptions(64 * MIB, folder, SMALL_SLABS))) {
      while (pool.readyBytes() < pool.capacityBytes()) {
        long offset = pool.allocate(MIB);
        if (offset != MemoryPool.NONE) {
          assertThat(offset + MIB).isLessThanOrEqualTo(pool.readyBytes());
        }
      }
      assertThat(pool.readyBytes()).isEqualTo(64 * MIB);
    }
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void regionsAreAlignedForHugePages(HostMemory memory) {
    try (MemoryPool pool = memory.open(new MemoryOptions(3 * MIB, folder, SMALL_SLABS))) {
      assertThat(pool.regions()).singleElement()
          .satisfies(region -> assertThat(region.address() % Mapping.HUGE_PAGE_BYTES).isZero())
          .satisfies(region -> assertThat(region.byteSize()).isEqualTo(3 * MIB));
      assertThat(pool.describe()).startsWith(memory.name() + ", ").contains("pages");
    }
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void closeWhileMemoryIsBeingTaken_leavesNothing(HostMemory memory) throws IOException {
    MemoryPool warmUp = memory.open(new MemoryOptions(2 * MIB, folder, SMALL_SLABS));
    warmUp.close();
    List<String> filesBefore = openFiles();
    for (int i = 0; i < 5; i++) {
      MemoryPool pool = memory.open(new MemoryOptions(512 * MIB, folder, SMALL_SLABS));
      long ended = pool.regions().getFirst().address();
      assertThat(mappingsOver(ended, 512 * MIB)).isNotEmpty();
      pool.close();
      pool.close();
      assertThat(mappingsOver(ended, 512 * MIB)).as("mapping after close").isEmpty();
    }
    assertThat(openFiles()).isEqualTo(filesBefore);
    assertThat(folder.resolve("blocks.arena")).doesNotExist();
    assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain("blocks.arena");
    assertThat(Thread.getAllStackTraces().keySet()).noneMatch(thread -> thread.getName().startsWith("orbitkv-arena"));
  }

  /** Returns the mappings that cover a range; smaller ones may have come to lie there since. */
  private static List<String> mappingsOver(long start, long bytes) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(line -> {
      int dash = line.indexOf('-');
      return Long.parseUnsignedLong(line, 0, dash, 16) <= start
          && Long.parseUnsignedLong(line, dash + 1, line.indexOf(' '), 16) >= start + bytes;
    }).toList();
  }

  /** Files that tests of this class could leave open; the virtual machine opens others when it likes. */
  private List<String> openFiles() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.map(MemoryPoolTest::target).filter(name -> name.startsWith(folder.toString())).sorted().toList();
    }
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException e) {
      return "closed meanwhile";
    }
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void viewsEndWithThePool(HostMemory memory) {
    MemoryPool pool = memory.open(new MemoryOptions(2 * MIB, folder, SMALL_SLABS));
    MemorySegment view = pool.slice(0, 4096);
    pool.close();
    assertThatThrownBy(() -> view.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void sizeThatDoesNotFit_isRefusedWithNumbers(HostMemory memory) throws IOException {
    assertThatThrownBy(() -> memory.open(new MemoryOptions(4L << 40, folder, Map.of())))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("4TiB (4398046511104 bytes) does not fit")
        .hasMessageContaining("MemAvailable");
    assertThat(folder.resolve("blocks.arena")).doesNotExist();
    memory.open(new MemoryOptions(MIB, folder, Map.of())).close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "3MiB", "1", "many"})
  void slabSizeThatIsNoMultipleOfAHugePage_isRefused(String slab) {
    assertThatThrownBy(() -> new PrivateMemory().open(new MemoryOptions(MIB, folder, Map.of("slab-bytes", slab))))
        .isInstanceOf(RefusedException.class);
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void unknownSetting_isRefused(HostMemory memory) {
    assertThatThrownBy(() -> memory.open(new MemoryOptions(MIB, folder, Map.of("slabs", "2MiB"))))
        .isInstanceOf(RefusedException.class).hasMessageContaining("'slabs'").hasMessageContaining("slab-bytes");
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 4095, 1L << 50})
  void capacityOutOfBounds_isRefused(long bytes) {
    assertThatThrownBy(() -> new PrivateMemory().open(new MemoryOptions(bytes, folder, Map.of())))
        .isInstanceOf(RefusedException.class).hasMessageContaining(bytes + " bytes");
  }

  @Test
  void sharedMemory_canBeReadThroughItsFile() throws IOException {
    try (MemoryPool pool = new SharedMemory().open(new MemoryOptions(2 * MIB, folder, Map.of()))) {
      pool.slice(pool.allocate(5), 5).copyFrom(MemorySegment.ofArray("bytes".getBytes()));
      Path arena = folder.resolve("blocks.arena");
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(arena))).isEqualTo("rw-------");
      assertThat(Files.size(arena)).isEqualTo(2 * MIB);
      assertThat(Files.readString(arena)).startsWith("bytes");
    }
  }

  @Test
  void sharedMemory_makesItsFolderPrivate() throws IOException {
    Path inner = folder.resolve("a/b");
    try (MemoryPool pool = new SharedMemory().open(new MemoryOptions(MIB, inner, Map.of()))) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(inner))).isEqualTo("rwx------");
      assertThat(pool.describe()).contains(inner.toString());
    }
  }

  @Test
  void liveOwner_isNamedAndKept() {
    try (MemoryPool pool = new SharedMemory().open(new MemoryOptions(MIB, folder, Map.of()))) {
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> new SharedMemory().open(new MemoryOptions(MIB, folder, Map.of())))
            .isInstanceOf(UnavailableException.class)
            .hasMessageContaining("owned by process " + ProcessHandle.current().pid());
      }
      assertThat(folder.resolve("blocks.arena")).exists();
      pool.slice(0, MIB).fill((byte) 1);
    }
  }

  @Test
  void deadOwnersFiles_areRemoved() throws IOException {
    Files.writeString(folder.resolve("arena.lock"), "1\n");
    Files.writeString(folder.resolve("blocks.arena"), "left behind");
    Files.writeString(folder.resolve("older.arena"), "left behind");
    Files.writeString(folder.resolve("manager.socket"), "not ours");
    try (MemoryPool pool = new SharedMemory().open(new MemoryOptions(MIB, folder, Map.of()))) {
      assertThat(Files.size(folder.resolve("blocks.arena"))).isEqualTo(pool.capacityBytes());
      assertThat(folder.resolve("older.arena")).doesNotExist();
      assertThat(folder.resolve("manager.socket")).exists();
    }
  }

  @Test
  void folderThatOthersCanRead_isRefused() throws IOException {
    Path open = Files.createDirectory(folder.resolve("open"));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThatThrownBy(() -> new SharedMemory().open(new MemoryOptions(MIB, open, Map.of())))
        .isInstanceOf(RefusedException.class).hasMessageContaining("rwxr-xr-x").hasMessageContaining("chmod 700");
  }

  @Test
  void folderOnADisk_isRefused() throws IOException {
    Path onDisk = Files.createTempDirectory(Path.of("target"), "runtime-");
    String type = Files.getFileStore(onDisk).type();
    assumeThat(type).as("the build's own file system").isNotEqualTo("tmpfs");
    assertThatThrownBy(() -> new SharedMemory().open(new MemoryOptions(MIB, onDisk, Map.of())))
        .isInstanceOf(RefusedException.class).hasMessageContaining("is on " + type).hasMessageContaining("/dev/shm");
  }

  private static void awaitWhole(MemoryPool pool) {
    long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (pool.readyBytes() < pool.capacityBytes()) {
      assertThat(System.nanoTime() - deadline).as("nanoseconds past the deadline").isNegative();
      LockSupport.parkNanos(100_000);
    }
  }
}
