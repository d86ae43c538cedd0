package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StoreOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A folder, its owner in another process, and the space that both take. */
@Timeout(120)
class FolderOwnerTest {

  private static final long CAPACITY = 24 << 20;

  @TempDir
  Path parent;

  @Test
  void open_ofAnotherProcessFolder_isRefusedByItsNameUntilItDies() throws IOException, InterruptedException {
    Path folder = parent.resolve("store");
    StoreOptions options = new StoreOptions(folder, CAPACITY, Map.of());
    try (ChildProcess owner = new ChildProcess("file", folder, CAPACITY, "1MiB", "hold")) {
      owner.awaitReady();
      for (int attempt = 0; attempt < 2; attempt++) {
        assertThatThrownBy(() -> new ChannelStorage().open(options))
            .isInstanceOf(UnavailableException.class)
            .hasMessageContaining("in use by process " + owner.pid() + " (started ")
            .hasMessageContaining("StoreProcess");
      }
      assertThat(new ChannelStorage().inspect(folder).facts().get("owner")).startsWith("in use by process " + owner.pid());
      owner.kill();
      assertThat(new ChannelStorage().inspect(folder).facts().get("owner")).startsWith("left by process " + owner.pid());
    }
    try (BlockStore store = new ChannelStorage().open(options)) {
      assertThat(store.geometry().segments()).isPositive();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"io_uring", "file"})
  void diskUse_isWithinTheCapacityAtEveryMoment(String backend) throws IOException, InterruptedException {
    Path folder = parent.resolve(backend);
    List<Long> samples = new ArrayList<>();
    try (ChildProcess child = new ChildProcess(backend, folder, CAPACITY, "256KiB", "1")) {
      // A slow disk takes longer to give the space than sixty looks take: the last look must come after it is given.
      while (samples.size() < 60 || !child.isReady()) {
        child.requireAlive();
        sample(folder, samples);
      }
    }
    sample(folder, samples);
    assertThat(samples).allMatch(bytes -> bytes <= CAPACITY);
    assertThat(samples.getLast()).as("all blocks are there").isGreaterThan(CAPACITY - (2 << 20));
  }

  private static void sample(Path folder, List<Long> samples) throws IOException, InterruptedException {
    Process du = new ProcessBuilder("du", "-s", "--block-size=1", folder.toString())
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
    String output = new String(du.getInputStream().readAllBytes());
    // It fails while the folder is not there yet, or a file goes away under it.
    if (du.waitFor() == 0) {
      samples.add(Long.parseLong(output.split("\\s")[0]));
    }
  }
}
