package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.chaos.Chaos;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv chaos}. */
@Command(
    name = "chaos",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Serves engine stand-ins from a Manager, one of them through agents, and does to all what happens to processes.",
      "",
      "Kills, stops and cuts off at random, one after another, under load, over memory and SSD. Every restored byte is "
          + "compared. After each fault: engines go on, what the dead held is free within a second, a new Manager is used "
          + "within five. Ends with totals, and with 1 if anything was not as it must be.",
      ""
    })
final class ChaosCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Option(names = "--minutes", paramLabel = "M", defaultValue = "3", description = "How long. Default: ${DEFAULT-VALUE}.")
  private double minutes;

  @Option(names = "--seed", paramLabel = "S", defaultValue = "1",
      description = "Decides which faults come. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(names = "--engines", paramLabel = "N", defaultValue = "3", description = "At once. Default: ${DEFAULT-VALUE}.")
  private int engines;

  @Option(names = "--ranks", paramLabel = "N", defaultValue = "2",
      description = "Ranks of one more engine, which copies through agents, one for each; 0 for none. "
          + "Default: ${DEFAULT-VALUE}.")
  private int ranks;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "64KiB",
      description = "Bytes of a block, a multiple of 8, and of 32 for each rank. Default: ${DEFAULT-VALUE}.")
  private ByteSize blockBytes;

  @Option(names = "--dram", paramLabel = "SIZE", defaultValue = "96MiB", description = "Default: ${DEFAULT-VALUE}.")
  private ByteSize dram;

  @Option(names = "--ssd-bytes", paramLabel = "SIZE", defaultValue = "512MiB",
      description = "Size of the store. Default: ${DEFAULT-VALUE}.")
  private ByteSize ssdBytes;

  @Option(names = "--shared-memory", paramLabel = "DIR", defaultValue = "/dev/shm",
      description = "A folder on tmpfs. Default: ${DEFAULT-VALUE}.")
  private Path sharedMemory;

  @Mixin
  private JsonOption json;

  ChaosCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    if (!(minutes > 0) || engines < 2) {
      throw new RefusedException(minutes + " minutes of " + engines + " engines, expected more than none and at least 2");
    }
    if (ranks < 0 || ranks > 0 && blockBytes.bytes() % (32L * ranks) != 0) {
      throw new RefusedException(
          ranks + " ranks of blocks of " + blockBytes + ", expected 0 or more, and a multiple of 32 bytes for each");
    }
    Chaos.Settings settings = new Chaos.Settings(Duration.ofMillis((long) (minutes * 60_000)), seed, engines,
        ranks, Math.toIntExact(blockBytes.bytes()), dram, ssdBytes);
    Chaos.Result result;
    try (ScratchFolder runtime = ScratchFolder.in(sharedMemory);
        ScratchFolder scratch = ScratchFolder.temporary();
        Progress progress = terminal.progress("seconds", settings.limit().toSeconds())) {
      result = new Chaos(settings).run(runtime.path(), scratch.path().resolve("store"), progress);
    }
    print(result);
    json.write(asJson(result));
    return result.violations().isEmpty() ? ExitCode.OK : ExitCode.FAILED;
  }

  private void print(Chaos.Result result) {
    Table table = new Table("lr");
    result.faults().forEach((fault, count) -> table.line(fault.replace('_', ' '), number(count)));
    table.line("engines started", number(result.processes()))
        .line("agents started", number(result.agents()))
        .line("requests", number(result.engines().requests()))
        .line("blocks saved", number(result.engines().blocksSaved()))
        .line("of these through agents", number(result.ranked().blocksSaved()))
        .line("blocks restored", number(result.engines().blocksHit()))
        .line("of these through agents", number(result.ranked().blocksHit()))
        .line("bytes compared", number(result.engines().bytesVerified()))
        .line("blocks with a wrong byte", number(result.engines().mismatches()))
        .line("longest until memory of the dead was free", result.longestMemoryBack().toMillis() + " ms")
        .line("longest until a new Manager was used by all", result.longestReconnect().toMillis() + " ms")
        .line("longest until a new agent was used by its engine", result.longestAgentBack().toMillis() + " ms")
        .print(terminal.out());
    if (result.violations().isEmpty()) {
      terminal.out().println("seed " + seed + ": everything was as it must be");
    } else {
      terminal.out().println("seed " + seed + ": " + result.violations().size() + " things were not as they must be:");
      result.violations().forEach(violation -> terminal.out().println("  " + violation));
    }
  }

  private static String number(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private ObjectNode asJson(Chaos.Result result) {
    ObjectNode node = new JsonMapper().createObjectNode().put("seed", seed).put("minutes", minutes);
    ObjectNode faults = node.putObject("faults");
    result.faults().forEach(faults::put);
    node.put("engines_started", result.processes())
        .put("agents_started", result.agents())
        .put("requests", result.engines().requests())
        .put("blocks_saved", result.engines().blocksSaved())
        .put("blocks_restored", result.engines().blocksHit())
        .put("blocks_saved_through_agents", result.ranked().blocksSaved())
        .put("blocks_restored_through_agents", result.ranked().blocksHit())
        .put("bytes_verified", result.engines().bytesVerified())
        .put("mismatches", result.engines().mismatches())
        .put("memory_back_ms_max", result.longestMemoryBack().toMillis())
        .put("reconnect_ms_max", result.longestReconnect().toMillis())
        .put("agent_back_ms_max", result.longestAgentBack().toMillis());
    result.violations().forEach(node.putArray("violations")::add);
    return node;
  }
}
