package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.cli.replay.FakeCache;
import io.orbitkv.cli.replay.FakeCache.Restores;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class OrbitKvTest {

  private static final String REPLAY = "replay --workload multi-turn --limit 60 --block-bytes 4KiB --dram 64MiB";

  @TempDir
  private Path folder;

  @Test
  void withoutACommandItShowsTheCommands() {
    Invocation run = Invocation.of();

    assertThat(run.exitCode()).isZero();
    assertThat(run.out()).contains("Usage: orbitkv", "quickstart", "replay", "inspect", "bench");
    assertThat(run.err()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "replay --help", "manager --help", "quickstart --help", "inspect --help", "bench --help",
      "bench lookup --help", "bench ssd --help", "bench alloc --help", "--version", "bench ssd --version"})
  void helpAndVersionAreResults(String args) {
    Invocation run = Invocation.of(args.split(" "));

    assertThat(run.exitCode()).isZero();
    assertThat(run.out()).contains("orbitkv").doesNotContain("\u001B");
    assertThat(run.err()).isEmpty();
  }

  @Test
  void helpSaysThatTimestampsAreIgnoredAndHowRatesAreCounted() {
    assertThat(Invocation.of("replay", "--help").out().replaceAll("\\s+", " "))
        .contains("timestamps of a trace are ignored")
        .contains("Save and restore GB/s are bytes (10^9) over the time spent in those operations")
        .contains("Hits count the leading run of cached blocks");
  }

  /** MULTI stands for a command line that is right but for what follows. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "replay | --workload multi-turn | Missing required argument (specify one of these): ((--dram=SIZE",
      "replay | --workload long-doc --manager /absent/manager.sock --workers 2 --restart-at 5 | --restart-at closes",
      "replay | --workload long-doc --manager /absent/manager.sock --workers 0 | --workers is 0, expected at least 1",
      "replay | --workload long-doc --manager /absent/manager.sock --workers 2 --world-size 3 | --world-size is 3 and",
      "manager | --dram 0B | the cache has no memory",
      "replay | --dram 1GiB | Missing required argument (specify one of these): (--trace=FILE",
      "replay | --workload chat --dram 1GiB | workload 'chat' is not one of multi-turn, shared-prefix, long-doc",
      "replay | --trace /absent.jsonl --dram 1GiB | trace '/absent.jsonl' is not a file",
      "replay | --workload long-doc --dram 1GB | Invalid value for option '--dram': size '1GB' is not a number",
      "replay | MULTI --ssd here | Invalid value for option '--ssd': 'here' is not a folder and a size",
      "replay | MULTI --ssd here:5x | Invalid value for option '--ssd': size '5x' is not",
      "replay | MULTI --limit 0 | --limit is 0, expected at least 1",
      "replay | MULTI --limit x | Invalid value for option '--limit': 'x' is not an int",
      "replay | MULTI --restart-at 5 | --restart-at needs --ssd",
      "replay | MULTI --world-size 0 | world size is 0",
      "replay | MULTI --block-bytes 100 | block of 100 bytes, expected a multiple of 32",
      "replay | MULTI --json /absent/folder/x.json | --json '/absent/folder/x.json' cannot be written",
      "replay | MULTI --plugins /absent | plugins folder '/absent' is not a folder",
      "replay | MULTI --sed 5 | Unknown options: '--sed', '5'; did you mean",
      "quickstart | --requests 1 | --requests is 1, expected at least 2",
      "inspect | /absent | '/absent' is not a folder",
      "inspect | --json | Missing required parameter: 'DIR'",
      "bench ssd | --depth 8 | Missing required option: '--dir=DIR'",
      "bench ssd | --dir /absent | --dir '/absent' is not a folder",
      "bench lookup | --blocks 1001 --chain 1000 | 1001 resident blocks in chains of 1000",
      "bench alloc | --min 4MiB --max 1MiB | extents of 4194304 to 1048576 bytes",
  }, quoteCharacter = '"')
  void mistakesGetOneLineAndCodeTwo(String command, String args, String message) {
    String line = command + " " + args.replace("MULTI", "--workload multi-turn --dram 1GiB");

    Invocation run = Invocation.of(line.split(" "));

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).startsWith("orbitkv " + command + ": " + message).hasLineCount(1);
    assertThat(run.out()).isEmpty();
  }

  @Test
  void unknownCommandsGetOneLineAndCodeTwo() {
    Invocation run = Invocation.of("replya");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).isEqualTo(
        "orbitkv: Unmatched argument at index 0: 'replya'; did you mean replay? (see 'orbitkv --help')\n");
  }

  @Test
  void unavailableMachinesGetOneLineAndCodeOne() {
    Invocation run = Invocation.with((settings, backends) -> {
      throw new UnavailableException("no memory: 1 found, 2 needed;\n raise the limit");
    }, REPLAY.split(" "));

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.err()).isEqualTo("orbitkv replay: no memory: 1 found, 2 needed; raise the limit\n");
  }

  @Test
  void unforeseenErrorsPointToTheStackTrace() {
    String[] args = REPLAY.split(" ");
    Invocation quiet = Invocation.with((settings, backends) -> {
      throw new IllegalStateException("broken");
    }, args);

    assertThat(quiet.exitCode()).isEqualTo(1);
    assertThat(quiet.err()).isEqualTo("orbitkv replay: unexpected java.lang.IllegalStateException: broken"
        + " (run it again with --debug for the stack trace)\n");

    Invocation debug = Invocation.with((settings, backends) -> {
      throw new IllegalStateException("broken");
    }, (REPLAY + " --debug").split(" "));

    assertThat(debug.err()).contains("\tat io.orbitkv.cli").doesNotContain("run it again");
  }

  @Test
  void replayWritesTheFiguresAsJson() throws IOException {
    Path file = folder.resolve("figures.json");

    Invocation run = Invocation.with((settings, backends) -> FakeCache.opener(Restores.RIGHT),
        (REPLAY + " --world-size 2 --ssd " + folder + ":1GiB --restart-at 30 --json " + file).split(" "));

    assertThat(run.exitCode()).as(run.err()).isZero();
    JsonNode figures = new JsonMapper().readTree(Files.readString(file));
    assertThat(figures.propertyNames()).contains("requests", "blocks_queried", "blocks_hit_dram", "blocks_hit_ssd",
        "hit_rate", "bytes_verified", "mismatches", "save_gb_s", "restore_gb_s", "lookup_us_p50", "lookup_us_p99",
        "restarts", "recovered_extents");
    assertThat(figures.get("requests").intValue()).isEqualTo(60);
    assertThat(figures.get("restarts").intValue()).isEqualTo(1);
    assertThat(figures.get("mismatches").intValue()).isZero();
    assertThat(figures.get("blocks_hit_ssd").intValue()).isPositive();
    assertThat(figures.get("hit_rate").doubleValue()).isEqualTo(
        (figures.get("blocks_hit_dram").doubleValue() + figures.get("blocks_hit_ssd").doubleValue())
            / figures.get("blocks_queried").doubleValue());
    assertThat(figures.get("save_gb_s").doubleValue()).isPositive();
    assertThat(figures.get("restore_gb_s").doubleValue()).isPositive();
    assertThat(run.out()).contains("requests", "bytes verified", "mismatches", "recovered extents", "after restart 1")
        .doesNotContain("\u001B");
    assertThat(run.err()).contains("replay: 60 of 60").doesNotContain("\r");
  }

  @Test
  void replayEndsWithOneIfAByteIsWrong() {
    Invocation run = Invocation.with(
        (settings, backends) -> FakeCache.opener((cache, chain, block, rank) -> cache.stored(chain, block / 2, rank)),
        REPLAY.split(" "));

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.err()).contains("wrong bytes: request");
  }
}
