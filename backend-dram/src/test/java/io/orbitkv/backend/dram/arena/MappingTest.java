package io.orbitkv.backend.dram.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MappingTest {

  private static final long MIB = 1 << 20;

  @TempDir(factory = SharedMemoryFolder.class)
  private Path folder;

  private final SystemCalls system = new SystemCalls();

  @Test
  void take_onAnOlderKernel_reservesAndTouches() throws IOException {
    Path file = folder.resolve("arena");
    try (Mapping mapping = Mapping.ofFile(system, file, 4 * MIB, 4096, false)) {
      assertThat(blocks(file)).isZero();
      mapping.take(2 * MIB, MIB);
      assertThat(blocks(file)).isEqualTo(MIB);
      assertThat(mapping.pages()).contains("pages");
    }
  }

  @Test
  void take_reservesRealMemory() throws IOException {
    Path file = folder.resolve("arena");
    try (Mapping mapping = Mapping.ofFile(system, file, 4 * MIB, 4096, true)) {
      mapping.take(0, 2 * MIB);
      assertThat(blocks(file)).isGreaterThanOrEqualTo(2 * MIB);
      mapping.memory().set(ValueLayout.JAVA_BYTE, 2 * MIB - 1, (byte) 1);
    }
  }

  /** A shrunk file fails as a full file system does: a touch would be SIGBUS, the end of this process. */
  @Test
  void take_whereATouchWouldKill_isAnError() throws IOException {
    Path file = folder.resolve("arena");
    try (Mapping mapping = Mapping.ofFile(system, file, 8 * MIB, 4096, true)) {
      truncate(file, 4 * MIB);
      assertThatThrownBy(() -> mapping.take(6 * MIB, MIB))
          .isInstanceOf(IOException.class).hasMessageContaining("EFAULT");
    }
  }

  @Test
  void slabsBehindAFailure_areNeverReady() throws IOException {
    Path file = folder.resolve("arena");
    try (Mapping mapping = Mapping.ofFile(system, file, 16 * MIB, 4096, true)) {
      SlabTaker slabs = new SlabTaker(mapping, 16 * MIB, 2 * MIB);
      assertThat(slabs.readyBytes()).isEqualTo(2 * MIB);
      truncate(file, 6 * MIB);
      slabs.start(1);
      slabs.awaitEnd();
      assertThat(slabs.readyBytes()).isEqualTo(6 * MIB);
      assertThat(slabs.describe()).contains("only 6MiB ready: the file system has no more space (EFAULT)");
      slabs.close();
    }
  }

  @Test
  void fileThatExists_isNotMapped() throws IOException {
    Path file = Files.createFile(folder.resolve("arena"));
    assertThatThrownBy(() -> Mapping.ofFile(system, file, MIB, 4096, true))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("EEXIST");
  }

  private static void truncate(Path file, long bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.truncate(bytes);
    }
  }

  /** Returns the bytes that the file system holds for the file. */
  private static long blocks(Path file) throws IOException {
    Process stat = new ProcessBuilder("stat", "-c", "%b", file.toString()).start();
    return 512 * Long.parseLong(new String(stat.getInputStream().readAllBytes()).strip());
  }
}
