package io.orbitkv.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** That every benchmark runs. The figures of such short runs mean nothing. */
class SmokeTest {

  private static final List<String> BENCHMARKS = List.of(
      "AllocatorBenchmark.pool",
      "AllocatorBenchmark.stackOfSlots",
      "BlockCopyBenchmark.checksum",
      "BlockCopyBenchmark.plainCopy",
      "BlockCopyBenchmark.restore",
      "BlockCopyBenchmark.save",
      "EvictionOrderBenchmark.use",
      "EvictionOrderBenchmark.useAndReplace",
      "LookupBenchmark.hit",
      "LookupBenchmark.hitByHashSet",
      "LookupBenchmark.miss",
      "LookupBenchmark.missByHashSet");

  @Test
  void everyBenchmarkRuns() throws RunnerException {
    Collection<RunResult> results = new Runner(new OptionsBuilder()
        .include("io.orbitkv.benchmarks")
        .forks(0)
        .warmupIterations(0)
        .measurementIterations(1)
        .measurementTime(TimeValue.milliseconds(5))
        .param("resident", "1000")
        .param("chainBlocks", "100")
        .param("blocks", "1000")
        .param("fill", "50")
        .param("blockBytes", "65536")
        .verbosity(VerboseMode.SILENT)
        .shouldFailOnError(true)
        .build()).run();

    assertThat(results)
        .extracting(result -> result.getParams().getBenchmark().replace("io.orbitkv.benchmarks.", ""))
        .containsAll(BENCHMARKS);
    assertThat(results).allSatisfy(result -> assertThat(result.getPrimaryResult().getScore()).isPositive());
  }
}
