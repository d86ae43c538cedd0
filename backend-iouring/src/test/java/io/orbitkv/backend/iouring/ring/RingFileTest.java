package io.orbitkv.backend.iouring.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.iouring.file.StoreFile;
import io.orbitkv.backend.iouring.file.StoreFileContract;
import io.orbitkv.backend.iouring.file.StoreFiles;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RingFileTest extends StoreFileContract {

  private static final int PAGE = 4096;

  @TempDir Path files;

  private Path path;

  @Override
  protected StoreFiles files() {
    return new RingFiles(true);
  }

  @Override
  protected StoreFiles filesOfDevices() {
    return new RingFiles(false);
  }

  @BeforeEach
  void createFileWhereThereAreRings() throws IOException {
    path = Files.write(files.resolve("store"), new byte[16 * PAGE]);
    try {
      files().open(path, 1).close();
    } catch (UnavailableException e) {
      abort(e.getMessage());
    }
  }

  @Test
  void open_fileSystemWithoutDirect_isRefusedByItsName() {
    assertThatThrownBy(() -> new RingFiles(true).open(Path.of("/proc/self/comm"), 1))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("proc")
        .hasMessageContaining("O_DIRECT")
        .hasMessageContaining("direct=false");
  }

  @Test
  void open_folder_isAnErrorThatNamesIt() {
    assertThatThrownBy(() -> files().open(files, 1))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(files.toString())
        .hasMessageContaining("EISDIR");
  }

  @Test
  void extend_beyondTheDisk_isAnErrorThatNamesTheFile() {
    assertThatThrownBy(() -> files().extend(path, 1L << 50))
        .isInstanceOf(FileSystemException.class)
        .hasMessageContaining(path.toString())
        .hasMessageMatching(".*(EFBIG|ENOSPC).*");
    assertThatThrownBy(() -> files().extend(path, 0)).hasMessageContaining("EINVAL");
    assertThat(path).hasSize(16 * PAGE);
  }

  @Test
  void open_depthBeyondTheKernels_isRefused() throws IOException {
    files().open(path, Uring.MAX_DEPTH).close();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> files().open(path, Uring.MAX_DEPTH + 1))
        .withMessageContaining("expected 1 to " + Uring.MAX_DEPTH);
  }

  @Test
  void register_afterATransfer_isRefused() throws IOException {
    try (StoreFile file = files().open(path, 1);
        Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(PAGE, PAGE);
      file.read(1, memory, 0);
      assertThatIllegalStateException()
          .isThrownBy(() -> file.register(List.of(memory)))
          .withMessageContaining("before any transfer");
    }
  }

  @Test
  void register_saysWhatBecameOfIt() throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      try (StoreFile file = files().open(path, 1)) {
        assertThat(file.register(List.of(arena.allocate(2 * PAGE, PAGE), arena.allocate(PAGE, PAGE))))
            .isEqualTo("registered 12288 bytes in 2 pieces");
      }
      try (StoreFile file = files().open(path, 1)) {
        assertThat(file.register(List.of())).isEqualTo("nothing to register");
      }
    }
  }

  @Test
  void driver_onAVirtualThread_isRefused() throws Exception {
    try (StoreFile file = files().open(path, 1)) {
      AtomicReference<Throwable> outcome = new AtomicReference<>();
      Thread.ofVirtual()
          .uncaughtExceptionHandler((thread, failure) -> outcome.set(failure))
          .start(() -> file.poll((token, result) -> {}, false))
          .join();
      assertThat(outcome.get()).isInstanceOf(IllegalStateException.class).hasMessageContaining("platform thread");
    }
  }

  @Test
  void close_byAnotherThread_needsAllTransfersDone() throws Exception {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(PAGE, PAGE);
      StoreFile file = files().open(path, 1);
      do {
        file.read(1, memory, 0);
      } while (file.poll((token, result) -> {}, false) == 1); // until one is slow enough to stay in flight
      assertThat(closeElsewhere(file)).hasMessageContaining("while " + Thread.currentThread().getName() + " drives it");
      while (file.poll((token, result) -> {}, true) == 0) {
        // woken without a completion
      }
      assertThat(closeElsewhere(file)).isNull();
    }
  }

  private static Throwable closeElsewhere(StoreFile file) throws InterruptedException {
    AtomicReference<Throwable> outcome = new AtomicReference<>();
    Thread.ofPlatform().uncaughtExceptionHandler((thread, failure) -> outcome.set(failure)).start(file::close).join();
    return outcome.get();
  }
}
