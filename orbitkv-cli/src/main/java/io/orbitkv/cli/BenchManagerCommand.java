package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.bench.LookupBench;
import io.orbitkv.cli.bench.ManagerLookupBench;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.manager.Manager;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv bench manager}. */
@Command(
    name = "manager",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Times lookups of a Python process through a Manager, beside a bare echo of the same bytes.",
      "",
      "The Manager and the echo are this process; the echo reads as many bytes as a query has and answers with as many "
          + "as its reply has, over the same kind of socket. Needs a Python with msgspec.",
      ""
    })
final class BenchManagerCommand implements Callable<Integer> {

  /** What the launcher says of where it lies. */
  private static final String HOME = "orbitkv.home";

  private static final List<String> KINDS = List.of("echo", "hit", "miss", "release", "encode");

  private final Terminal terminal;

  @Option(names = "--blocks", paramLabel = "N", defaultValue = "1000000",
      description = "Resident blocks of 4KiB. Default: ${DEFAULT-VALUE}.")
  private int blocks;

  @Option(names = "--chain", paramLabel = "N", defaultValue = "1250",
      description = "Blocks of a prompt; ${DEFAULT-VALUE} are 20,000 tokens in blocks of 16.")
  private int chain;

  @Option(names = "--lookups", paramLabel = "N", defaultValue = "2000",
      description = "Timed lookups of each kind, a round. Default: ${DEFAULT-VALUE}.")
  private int lookups;

  @Option(names = "--rounds", paramLabel = "N", defaultValue = "6",
      description = "Rounds; the first warms up and is not counted. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Option(names = "--python", paramLabel = "FILE", defaultValue = "python3",
      description = "A Python interpreter with msgspec, as .ci/python-env makes one. Default: ${DEFAULT-VALUE}.")
  private String python;

  @Option(names = "--shared-memory", paramLabel = "DIR", defaultValue = "/dev/shm",
      description = "A folder on tmpfs. Default: ${DEFAULT-VALUE}.")
  private Path sharedMemory;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  BenchManagerCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    if (rounds < 2) {
      throw new RefusedException("--rounds is " + rounds + ", expected at least 2, the first of which warms up");
    }
    LookupBench.Settings settings = new LookupBench.Settings(blocks, chain, lookups, 1);
    ManagerLookupBench.Python side = python();
    ManagerLookupBench.Result result;
    try (ScratchFolder scratch = ScratchFolder.in(sharedMemory);
        Manager manager = Manager.builder().backends(plugins.backends()).runtimeDirectory(scratch.path())
            .dram(new ByteSize(settings.memoryBytes())).expectedBlock(new ByteSize(MemoryPool.ALIGNMENT)).open();
        Cache cache = ManagerClient.open(manager.socket());
        Progress progress = terminal.progress("fill", blocks)) {
      result = new ManagerLookupBench(settings, rounds, lookups)
          .run(cache, manager.socket(), scratch.path(), side, progress);
    }
    print(result);
    json.write(asJson(result));
    return ExitCode.OK;
  }

  private ManagerLookupBench.Python python() {
    String home = System.getProperty(HOME);
    if (home == null) {
      throw new RefusedException("bench manager needs the sources of OrbitKV; run it as ./orbitkv from a clone");
    }
    Path script = Path.of(home, "benchmarks/src/main/python/manager_lookup.py");
    Path packages = Path.of(home, "orbitkv-core/src/main/python");
    if (!Files.isRegularFile(script) || !Files.isDirectory(packages)) {
      throw new RefusedException("'" + home + "' has no " + script + " or no " + packages
          + "; run ./orbitkv from a whole clone");
    }
    return new ManagerLookupBench.Python(python, script, packages);
  }

  private void print(ManagerLookupBench.Result result) {
    terminal.out().printf(Locale.ROOT,
        "from Python, %,d blocks of %,d resident, %,d times each, us:%n", chain, blocks, (rounds - 1) * lookups);
    Table table = new Table("lrrrr").line("", "p50", "p99", "p99.9", "of echo's p50");
    for (String kind : KINDS) {
      table.line(kind, micros(result.nanos(kind, 50)), micros(result.nanos(kind, 99)), micros(result.nanos(kind, 99.9)),
          String.format(Locale.ROOT, "%.2f", result.ratio(kind)));
    }
    table.print(terminal.out());
  }

  private static String micros(long nanos) {
    return String.format(Locale.ROOT, "%.1f", nanos / 1e3);
  }

  private ObjectNode asJson(ManagerLookupBench.Result result) {
    ObjectNode node = new JsonMapper().createObjectNode().put("blocks", blocks).put("chain", chain)
        .put("lookups", (rounds - 1) * lookups);
    for (String kind : KINDS) {
      node.put(kind + "_us_p50", result.nanos(kind, 50) / 1e3).put(kind + "_us_p99", result.nanos(kind, 99) / 1e3);
    }
    return node.put("hit_of_echo", result.ratio("hit")).put("miss_of_echo", result.ratio("miss"));
  }
}
