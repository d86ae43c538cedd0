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
  @ValueSource(strings = {"--help", "replay --help", "quickstart --help", "inspect --help", "bench --help",
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

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "frobnicate | orbitkv: Unmatched argument at index 0: 'frobnicate'",
      "replay --workload multi-turn | orbitkv replay: Missing required option: '--dram=SIZE'",
      "replay --dram 1GiB | orbitkv replay: Missing required argument (specify one of these): (--trace=FILE | --workload=NAME)",
      "replay --workload chat --dram 1GiB | orbitkv replay: workload 'chat' is not one of multi-turn, shared-prefix, long-doc",
      "replay --workload multi-turn --dram 1GB | orbitkv replay: Invalid value for option '--dram': size '1GB' is not a number",
      "replay --workload multi-turn --dram 1GiB --ssd here | orbitkv replay: Invalid value for option '--ssd': 'here' is not a folder and a size",
      "replay --workload multi-turn --dram 1GiB --ssd here:5x | orbitkv replay: Invalid value for option '--ssd': size '5x' is not",
      "replay --workload multi-turn --dram 1GiB --limit 0 | orbitkv replay: --limit is 0, expected at least 1",
      "replay --workload multi-turn --dram 1GiB --limit x | orbitkv replay: Invalid value for option '--limit': 'x' is not an int",
      "replay --workload multi-turn --dram 1GiB --restart-at 5 | orbitkv replay: --restart-at needs --ssd",
      "replay --workload multi-turn --dram 1GiB --world-size 0 | orbitkv replay: world size is 0",
      "replay --workload multi-turn --dram 1GiB --block-bytes 100 | orbitkv replay: block of 100 bytes, expected a multiple of 32",
      "replay --workload multi-turn --dram 1GiB --json /absent/folder/x.json | orbitkv replay: --json '/absent/folder/x.json' cannot be written",
      "replay --workload multi-turn --dram 1GiB --plugins /absent | orbitkv replay: plugins folder '/absent' is not a folder",
      "replay --trace /absent.jsonl --dram 1GiB | orbitkv replay: trace '/absent.jsonl' is not a file",
      "replay --workload multi-turn --dram 1GiB --sed 5 | orbitkv replay: Unknown options: '--sed', '5'",
      "inspect | orbitkv inspect: Missing required parameter: 'DIR'",
      "inspect /absent | orbitkv inspect: '/absent' is not a folder",
      "bench ssd | orbitkv bench ssd: Missing required option: '--dir=DIR'",
      "bench ssd --dir /absent | orbitkv bench ssd: --dir '/absent' is not a folder",
      "bench lookup --blocks 1001 --chain 1000 | orbitkv bench lookup: 1001 resident blocks in chains of 1000",
      "bench alloc --min 4MiB --max 1MiB | orbitkv bench alloc: extents of 4194304 to 1048576 bytes",
  })
  void mistakesGetOneLineAndCodeTwo(String args, String line) {
    Invocation run = Invocation.of(args.split(" "));

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).startsWith(line).hasLineCount(1);
    assertThat(run.out()).isEmpty();
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
