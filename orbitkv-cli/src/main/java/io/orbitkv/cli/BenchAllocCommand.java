package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.bench.AllocBench;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.EmbeddedCache.Builder;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv bench alloc}. */
@Command(
    name = "alloc",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Measures the allocator of a memory pool over a long random run of mixed sizes.",
      "",
      "At each fill level extents are allocated while less is in use, else freed at random. Fragmentation is 1 - "
          + "largest free extent / free bytes.",
      ""
    })
final class BenchAllocCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Option(names = "--dram", paramLabel = "SIZE", defaultValue = "1GiB",
      description = "Memory of the pool. Default: ${DEFAULT-VALUE}.")
  private ByteSize dram;

  @Option(names = "--memory", paramLabel = "NAME", defaultValue = Builder.DEFAULT_MEMORY,
      description = "Provider of the memory. Default: ${DEFAULT-VALUE}.")
  private String memory;

  @Option(names = "--min", paramLabel = "SIZE", defaultValue = "16KiB",
      description = "Smallest extent. Default: ${DEFAULT-VALUE}.")
  private ByteSize min;

  @Option(names = "--max", paramLabel = "SIZE", defaultValue = "4MiB",
      description = "Largest extent. Default: ${DEFAULT-VALUE}.")
  private ByteSize max;

  @Option(names = "--operations", paramLabel = "N", defaultValue = "5000000",
      description = "Allocations and frees at each fill level. Default: ${DEFAULT-VALUE}.")
  private long operations;

  @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  BenchAllocCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    AllocBench bench = new AllocBench(new AllocBench.Settings(min.bytes(), max.bytes(), operations, seed));
    List<AllocBench.Level> levels;
    try (ScratchFolder runtime = ScratchFolder.temporary();
        MemoryPool pool =
            plugins.backends().memory(memory).open(new MemoryOptions(dram.bytes(), runtime.path(), Map.of()));
        Progress progress = terminal.progress("fill levels", AllocBench.FILL_LEVELS.size())) {
      awaitReady(pool);
      levels = bench.run(pool, progress);
    }
    print(levels);
    json.write(asJson(levels));
    return ExitCode.OK;
  }

  /** The pool takes its memory in the background; a benchmark has nothing else to do meanwhile. */
  private static void awaitReady(MemoryPool pool) throws InterruptedException {
    while (pool.readyBytes() < pool.capacityBytes()) {
      Thread.sleep(5);
    }
  }

  private void print(List<AllocBench.Level> levels) {
    terminal.out().printf(Locale.ROOT, "extents of %s to %s in %s of '%s' memory, %,d operations a level:%n",
        min, max, dram, memory, operations);
    Table table = new Table("rrrrr").line("fill", "extents", "fragmentation", "failed", "operations/s");
    for (AllocBench.Level level : levels) {
      table.line(
          String.format(Locale.ROOT, "%.0f %%", 100 * level.fill()),
          String.format(Locale.ROOT, "%,d", level.extents()),
          String.format(Locale.ROOT, "%.3f", level.fragmentation()),
          String.format(Locale.ROOT, "%.4f %%", 100 * level.failureRate()),
          String.format(Locale.ROOT, "%,.0f", level.operationsPerSecond()));
    }
    table.print(terminal.out());
  }

  private ObjectNode asJson(List<AllocBench.Level> levels) {
    ObjectNode node = new JsonMapper().createObjectNode()
        .put("memory", memory)
        .put("capacity_bytes", dram.bytes())
        .put("min_bytes", min.bytes())
        .put("max_bytes", max.bytes())
        .put("operations_per_level", operations);
    ArrayNode array = node.putArray("levels");
    for (AllocBench.Level level : levels) {
      array.addObject()
          .put("fill", level.fill())
          .put("extents", level.extents())
          .put("fragmentation", level.fragmentation())
          .put("failure_rate", level.failureRate())
          .put("operations_per_second", level.operationsPerSecond());
    }
    return node;
  }
}
