package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** That the benchmarks run and say what they measured, at sizes too small to mean anything. */
class BenchTest {

  @TempDir
  private Path folder;

  @Test
  void lookup_timesHitsAndMisses() throws IOException {
    JsonNode figures = bench("lookup", "--blocks", "2000", "--chain", "100", "--lookups", "200");

    for (String kind : List.of("hit", "half", "miss")) {
      assertThat(figures.get(kind + "_us_p50").doubleValue()).isPositive();
      assertThat(figures.get(kind + "_us_p99").doubleValue())
          .isGreaterThanOrEqualTo(figures.get(kind + "_us_p50").doubleValue());
    }
    assertThat(figures.get("blocks").intValue()).isEqualTo(2000);
  }

  @Test
  void copy_timesRanksBesidePlainCopies() throws IOException {
    JsonNode figures = bench("copy", "--block-bytes", "64KiB", "--layers", "4", "--round-bytes", "1MiB", "--rounds", "2",
        "--dir", folder.toString());

    assertThat(figures.get("ranks").size()).isEqualTo(2);
    for (JsonNode ranks : figures.get("ranks")) {
      for (String kind : List.of("save", "restore")) {
        assertThat(ranks.get(kind + "_gb_s").doubleValue()).isPositive();
        assertThat(ranks.get("plain_" + kind + "_gb_s").doubleValue()).isPositive();
        assertThat(ranks.get(kind + "_ratio").doubleValue()).isPositive();
      }
    }
  }

  @Test
  void alloc_tellsFragmentationAtEveryFillLevel() throws IOException {
    JsonNode figures = bench("alloc", "--dram", "16MiB", "--min", "4KiB", "--max", "256KiB", "--operations", "20000");

    assertThat(figures.get("levels").size()).isEqualTo(4);
    for (JsonNode level : figures.get("levels")) {
      assertThat(level.get("fragmentation").doubleValue()).isBetween(0.0, 1.0);
      assertThat(level.get("failure_rate").doubleValue()).isBetween(0.0, 1.0);
      assertThat(level.get("operations_per_second").doubleValue()).isPositive();
      assertThat(level.get("extents").intValue()).isPositive();
    }
  }

  @Test
  void ssd_writesAndReadsBesideFioWhereThereIsOne() throws IOException {
    JsonNode figures = bench("ssd", "--dir", folder.toString(), "--file-bytes", "32MiB", "--round-bytes", "8MiB",
        "--rounds", "1", "--block-bytes", "64KiB", "--depth", "8", "--storage", "file");

    assertThat(figures.get("blocks").size()).isEqualTo(1);
    for (JsonNode block : figures.get("blocks")) {
      assertThat(block.get("write_mib_s").doubleValue()).isPositive();
      assertThat(block.get("read_mib_s").doubleValue()).isPositive();
      assertThat(block.has("write_ratio")).isEqualTo(figures.get("fio").booleanValue());
      assertThat(block.has("read_ratio")).isEqualTo(figures.get("fio").booleanValue());
    }
    try (var left = Files.list(folder)) {
      assertThat(left).containsExactly(folder.resolve("figures.json"));
    }
  }

  @Test
  void recovery_findsAndReadsWhatWasWritten() throws IOException {
    JsonNode figures = bench("recovery", "--dir", folder.toString(), "--extents", "3000", "--storage", "file");

    assertThat(figures.get("blocks_found").longValue()).isEqualTo(3000);
    assertThat(figures.get("bytes_compared").longValue()).isEqualTo(3000L * 4096);
    assertThat(figures.get("open_seconds").doubleValue()).isPositive();
  }

  @Test
  void fairness_timesAVictimAloneAndBesideFloods() throws IOException {
    JsonNode figures = bench("fairness", "--chain", "40", "--ranks", "2", "--rounds", "2", "--seconds", "0.3", "--dram",
        "8MiB", "--ssd-bytes", "256MiB");

    for (String beside : List.of("nothing", "flood_elsewhere", "flood")) {
      assertThat(figures.get(beside + "_us_p50").doubleValue()).isPositive();
      assertThat(figures.get(beside + "_us_p99").doubleValue())
          .isGreaterThanOrEqualTo(figures.get(beside + "_us_p50").doubleValue());
    }
    assertThat(figures.get("flood_of_alone_p50").doubleValue()).isPositive();
    assertThat(figures.get("flooded_queries_per_second").doubleValue()).isPositive();
  }

  private JsonNode bench(String... args) throws IOException {
    Path json = folder.resolve("figures.json");
    List<String> all = new ArrayList<>(List.of("bench"));
    all.addAll(List.of(args));
    all.addAll(List.of("--json", json.toString()));
    Invocation run = Invocation.of(all.toArray(String[]::new));
    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out()).isNotEmpty();
    return new JsonMapper().readTree(Files.readString(json));
  }
}
