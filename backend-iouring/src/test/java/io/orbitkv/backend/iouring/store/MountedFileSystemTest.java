package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.backend.iouring.file.ChannelFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** File systems that are really full or read-only. Only where this process may mount one. */
class MountedFileSystemTest {

  private static final Map<String, String> SETTINGS = Map.of("segment-bytes", "256KiB");

  @TempDir
  Path mount;

  private boolean mounted;

  @BeforeEach
  void mountASmallOne() throws IOException, InterruptedException {
    mounted = run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", mount.toString());
    assumeTrue(mounted, "this process may not mount");
  }

  @AfterEach
  void unmount() throws IOException, InterruptedException {
    if (mounted) {
      assertThat(run("umount", mount.toString())).isTrue();
    }
  }

  private static boolean run(String... command) throws IOException, InterruptedException {
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor() == 0;
  }

  @Test
  void open_onAReadOnlyFileSystem_saysSo() throws IOException, InterruptedException {
    Path folder = mount.resolve("store");
    StoreOptions options = new StoreOptions(folder, 2 << 20, SETTINGS);
    new ChannelStorage().open(options).close();
    assertThat(run("mount", "-o", "remount,ro", mount.toString())).isTrue();
    assertThatThrownBy(() -> new ChannelStorage().open(options))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("Read-only file system");
    assertThat(new ChannelStorage().inspect(folder).segments()).hasSize(7);
  }

  @Test
  void open_onAFullFileSystem_saysSoAndLeavesNothingBehind() throws IOException {
    Files.write(mount.resolve("others"), new byte[3 << 20]);
    Path folder = mount.resolve("store");
    assertThatThrownBy(() -> new ChannelStorage().open(new StoreOptions(folder, 2 << 20, SETTINGS)))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("more bytes of disk");
    assertThat(folder.resolve("extents.orbitkv.new")).doesNotExist();
    assertThat(folder.resolve("extents.orbitkv")).doesNotExist();
  }

  @Test
  void extend_beyondTheSpaceThereIs_failsAndTheStoreGivesItBack() throws IOException {
    // As if others had taken the space between the question and the writing.
    Path file = Files.createFile(mount.resolve("file"));
    assertThatThrownBy(() -> new ChannelFiles(1).extend(file, 8 << 20)).isInstanceOf(IOException.class);
    Files.delete(file);
    assertThat(Files.getFileStore(mount).getUsableSpace()).isGreaterThan(3 << 20);
  }
}
