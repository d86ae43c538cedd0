package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.bench.LookupBench;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import io.orbitkv.core.EmbeddedCache.Builder;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv bench lookup}. */
@Command(
    name = "lookup",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Times lookups of long prompts among many resident blocks, in this process.",
      "",
      "A lookup is a query of a chain computed before, its answer with the lease, and the end of the lease. Blocks "
          + "have 4KiB and nothing is copied into them: a million take 4 GiB.",
      ""
    })
final class BenchLookupCommand implements Callable<Integer> {

  private final Terminal terminal;
  private final BiFunction<CacheSettings, Backends, CacheOpener> caches;

  @Option(names = "--blocks", paramLabel = "N", defaultValue = "1000000",
      description = "Resident blocks. Default: ${DEFAULT-VALUE}.")
  private int blocks;

  @Option(names = "--chain", paramLabel = "N", defaultValue = "1250",
      description = "Blocks of a prompt; ${DEFAULT-VALUE} are 20,000 tokens in blocks of 16.")
  private int chain;

  @Option(names = "--lookups", paramLabel = "N", defaultValue = "200000",
      description = "Timed lookups of each kind. Default: ${DEFAULT-VALUE}.")
  private int lookups;

  @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(names = "--memory", paramLabel = "NAME",
      description = "Provider of the memory. Default: " + Builder.DEFAULT_MEMORY + ".")
  private String memory;

  @Option(names = "--policy", paramLabel = "NAME",
      description = "Which blocks leave memory first. Default: " + Builder.DEFAULT_POLICY + ".")
  private String policy;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  BenchLookupCommand(Terminal terminal, BiFunction<CacheSettings, Backends, CacheOpener> caches) {
    this.terminal = terminal;
    this.caches = caches;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    LookupBench.Settings settings = new LookupBench.Settings(blocks, chain, lookups, seed);
    CacheSettings cacheSettings = new CacheSettings(new ByteSize(settings.memoryBytes()),
        new ByteSize(MemoryPool.ALIGNMENT), Optional.empty(), Optional.ofNullable(memory), Optional.empty(), Map.of(),
        Optional.ofNullable(policy), seed);
    LookupBench.Result result;
    try (Cache cache = caches.apply(cacheSettings, plugins.backends()).open().cache();
        Progress progress = terminal.progress("fill", blocks)) {
      result = new LookupBench(settings).run(cache, progress);
    }
    print(result);
    json.write(asJson(result));
    return ExitCode.OK;
  }

  private void print(LookupBench.Result result) {
    terminal.out().printf(Locale.ROOT,
        "query + lease + release of %,d blocks among %,d resident, %,d times each, us:%n", chain, blocks, lookups);
    new Table("lrrrr")
        .line("", "p50", "p99", "p99.9", "max")
        .line(cells("hit", result.hit()))
        .line(cells("half", result.half()))
        .line(cells("miss", result.miss()))
        .print(terminal.out());
  }

  private static Object[] cells(String name, LookupBench.Times times) {
    return new Object[] {name, micros(times.p50()), micros(times.p99()), micros(times.p999()), micros(times.max())};
  }

  private static String micros(long nanos) {
    return String.format(Locale.ROOT, "%.2f", nanos / 1e3);
  }

  private static ObjectNode asJson(LookupBench.Result result) {
    ObjectNode node = new JsonMapper().createObjectNode()
        .put("blocks", result.settings().resident())
        .put("chain", result.settings().chainBlocks())
        .put("lookups", result.settings().lookups())
        .put("populate_seconds", result.populateSeconds());
    put(node, "hit", result.hit());
    put(node, "half", result.half());
    put(node, "miss", result.miss());
    return node;
  }

  private static void put(ObjectNode node, String kind, LookupBench.Times times) {
    node.put(kind + "_us_p50", times.p50() / 1e3)
        .put(kind + "_us_p99", times.p99() / 1e3)
        .put(kind + "_us_p999", times.p999() / 1e3)
        .put(kind + "_us_max", times.max() / 1e3);
  }
}
