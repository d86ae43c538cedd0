package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The whole path: the command, the cache, memory and files. */
class EmbeddedReplayTest {

  @TempDir
  private Path folder;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void replay_withRoomForAll_hitsEveryBlockSeenBefore(int ranks) throws IOException {
    JsonNode figures = replay("--workload", "shared-prefix", "--limit", "150", "--block-bytes", "16KiB", "--dram",
        "64MiB", "--world-size", Integer.toString(ranks));

    assertThat(figures.get("mismatches").intValue()).isZero();
    assertThat(figures.get("blocks_saved").longValue())
        .isEqualTo(figures.get("blocks_queried").longValue() - figures.get("blocks_hit_dram").longValue());
    assertThat(figures.get("bytes_verified").longValue())
        .isPositive()
        .isEqualTo(figures.get("blocks_hit_dram").longValue() * (16 << 10));
    assertThat(figures.get("faults").isEmpty()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void replay_withAnSsdAndARestart_goesOnFromTheSsd(int ranks) throws IOException {
    JsonNode figures = replay("--workload", "multi-turn", "--limit", "300", "--block-bytes", "16KiB", "--dram", "4MiB",
        "--ssd", folder.resolve("ssd") + ":256MiB", "--storage", "file", "--restart-at", "150", "--world-size",
        Integer.toString(ranks));

    assertThat(figures.get("mismatches").intValue()).isZero();
    assertThat(figures.get("restarts").intValue()).isEqualTo(1);
    assertThat(figures.get("recovered_extents").longValue()).isPositive();
    assertThat(figures.get("phases").get(1).get("blocks_hit_ssd").longValue()).isPositive();
    assertThat(figures.get("bytes_verified").longValue()).isEqualTo(
        (figures.get("blocks_hit_dram").longValue() + figures.get("blocks_hit_ssd").longValue()) * (16 << 10));
  }

  @Test
  void replay_overTheFolderOfAnEarlierOne_startsWarm() throws IOException {
    String[] args = {"--workload", "long-doc", "--limit", "20", "--block-bytes", "4KiB", "--dram", "32MiB",
        "--ssd", folder.resolve("ssd") + ":64MiB", "--storage", "file"};
    JsonNode first = replay(args);
    JsonNode second = replay(args);

    assertThat(second.get("recovered_extents").longValue()).isEqualTo(first.get("blocks_saved").longValue());
    assertThat(second.get("hit_rate").doubleValue()).isEqualTo(1);
    assertThat(second.get("mismatches").intValue()).isZero();
  }

  @Test
  void replay_usesAPolicyOfAPlugin() throws IOException {
    Path plugins = Files.createDirectory(folder.resolve("plugins"));
    PluginBuild.jar("first-in-first-out", plugins.resolve("fifo.jar"));

    JsonNode figures = replay("--workload", "multi-turn", "--limit", "100", "--block-bytes", "4KiB", "--dram", "1MiB",
        "--plugins", plugins.toString(), "--policy", "fifo");

    assertThat(figures.get("settings").get("policy").stringValue()).isEqualTo("fifo");
    assertThat(figures.get("blocks_hit_dram").longValue()).isPositive();
    assertThat(figures.get("mismatches").intValue()).isZero();
  }

  @Test
  void replay_namesThePoliciesThatThereAre() {
    Invocation run = Invocation.of("replay", "--workload", "multi-turn", "--dram", "1MiB", "--policy", "guess");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("'guess'", "lru").hasLineCount(1);
  }

  @Test
  void replay_passesSettingsToTheStorage() {
    Invocation run = Invocation.of("replay", "--workload", "multi-turn", "--dram", "1MiB", "--storage", "file", "--ssd",
        folder.resolve("ssd") + ":64MiB", "--storage-setting", "speed=9");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("'file'", "'speed'", "segment-bytes").hasLineCount(1);
  }

  @Test
  void inspect_tellsWhatAReplayLeft() throws IOException {
    Path store = folder.resolve("ssd");
    JsonNode figures = replay("--workload", "long-doc", "--limit", "5", "--block-bytes", "4KiB", "--dram", "32MiB",
        "--ssd", store + ":64MiB", "--storage", "file");

    Invocation asTable = Invocation.of("inspect", store.toString());
    Invocation asJson = Invocation.of("inspect", store.toString(), "--json");

    assertThat(asTable.exitCode()).as(asTable.err()).isZero();
    assertThat(asTable.out()).contains("intact extents", "generation", "sealed");
    JsonNode inspection = new JsonMapper().readTree(asJson.out());
    assertThat(inspection.propertyNames()).contains("facts", "extents", "payload_bytes", "dropped", "segments");
    assertThat(inspection.get("extents").longValue()).isEqualTo(figures.get("blocks_saved").longValue());
    assertThat(inspection.get("payload_bytes").longValue()).isEqualTo(figures.get("bytes_saved").longValue());
  }

  @Test
  void inspect_refusesAFolderThatIsNoStore() {
    Invocation run = Invocation.of("inspect", folder.toString());

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).startsWith("orbitkv inspect: ").contains(folder.toString()).hasLineCount(1);
  }

  private JsonNode replay(String... args) throws IOException {
    Path json = folder.resolve("figures.json");
    List<String> all = new ArrayList<>(List.of("replay", "--json", json.toString()));
    all.addAll(List.of(args));
    Invocation run = Invocation.of(all.toArray(String[]::new));
    assertThat(run.exitCode()).as(run.err()).isZero();
    return new JsonMapper().readTree(Files.readString(json));
  }
}
