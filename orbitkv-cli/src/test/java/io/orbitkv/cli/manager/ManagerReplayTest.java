package io.orbitkv.cli.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.cli.chaos.Relay;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code orbitkv replay --manager}: every process is a real one. */
@Timeout(300)
class ManagerReplayTest {

  /** The tag of a request to restore, as docs/wire.md has it. */
  private static final int RESTORE = 7;

  @TempDir(factory = SharedMemoryFolder.class)
  private Path runtime;

  @TempDir
  private Path folder;

  @Test
  void ranks_verifyEveryByte() throws IOException, InterruptedException {
    JsonNode figures = replay("ranks", "2");

    assertThat(figures.get("settings").get("world_size").intValue()).isEqualTo(2);
    assertThat(figures.get("bytes_verified").longValue())
        .isEqualTo(figures.get("blocks_hit_dram").longValue() * (16 << 10));
    assertThat(figures.get("blocks_saved").longValue())
        .isEqualTo(figures.get("blocks_queried").longValue() - figures.get("blocks_hit_dram").longValue());
  }

  @Test
  void engines_shareWhatTheySaved() throws IOException, InterruptedException {
    JsonNode figures = replay("engines", "3");

    assertThat(figures.get("requests").intValue()).isEqualTo(90);
    assertThat(figures.get("bytes_verified").longValue())
        .isEqualTo(figures.get("blocks_hit_dram").longValue() * (16 << 10));
  }

  @Test
  void ranks_computeWhatAManagerPromisedBeforeItDied() throws IOException, InterruptedException {
    dieBetweenHitAndRestore("ranks");
  }

  @Test
  void engines_computeWhatAManagerPromisedBeforeItDied() throws IOException, InterruptedException {
    dieBetweenHitAndRestore("engines");
  }

  private void dieBetweenHitAndRestore(String mode) throws IOException, InterruptedException {
    Path json = folder.resolve("figures.json");
    Path socket = runtime.resolve("manager.sock");
    TestProcess manager = manager();
    try (Relay relay = new Relay(runtime.resolve("relay.sock"), socket)) {
      Relay.Hold restore = relay.holdRequest(RESTORE);
      try (TestProcess replay = TestProcess.orbitkv("replay", "--manager", relay.socket().toString(), "--workers", "2",
          "--mode", mode, "--workload", "shared-prefix", "--limit", "90", "--block-bytes", "16KiB", "--json",
          json.toString())) {
        assertThat(restore.await(Duration.ofMinutes(2))).isTrue();
        manager.close();
        manager = manager();
        assertThat(replay.awaitEnd()).isZero();
      }
      JsonNode figures = new JsonMapper().readTree(Files.readString(json));
      assertThat(figures.get("requests").intValue()).isEqualTo(90);
      assertThat(figures.get("hits_lost").intValue()).isPositive();
      assertThat(figures.get("blocks_lost").intValue()).isPositive();
      assertThat(figures.get("mismatches").intValue()).isZero();
    } finally {
      manager.close();
    }
  }

  private TestProcess manager() throws IOException {
    TestProcess manager = TestProcess.orbitkv(
        "manager", "--http", "off", "--dram", "64MiB", "--policy", "lru", "--runtime", runtime.toString());
    assertThat(manager.read()).startsWith("ready: ");
    return manager;
  }

  private JsonNode replay(String mode, String workers) throws IOException, InterruptedException {
    Path json = folder.resolve("figures.json");
    try (TestProcess manager = manager()) {
      try (TestProcess replay = TestProcess.orbitkv("replay", "--manager", runtime.resolve("manager.sock").toString(),
          "--workers", workers, "--mode", mode, "--workload", "shared-prefix", "--limit", "90", "--block-bytes",
          "16KiB", "--json", json.toString())) {
        assertThat(replay.awaitEnd()).isZero();
      }
      manager.signal("TERM");
      assertThat(manager.awaitEnd()).isZero();
    }
    JsonNode figures = new JsonMapper().readTree(Files.readString(json));
    assertThat(figures.get("mismatches").intValue()).isZero();
    assertThat(figures.get("hits_lost").intValue()).isZero();
    assertThat(figures.get("blocks_hit_dram").longValue()).isPositive();
    assertThat(figures.get("faults").isEmpty()).isTrue();
    return figures;
  }
}
