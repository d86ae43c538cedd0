package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.bench.FairnessBench;
import io.orbitkv.cli.bench.FairnessBench.Beside;
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

/** {@code orbitkv bench fairness}. */
@Command(
    name = "fairness",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Times one engine's lookups at a Manager alone, and while another engine floods it.",
      "",
      "The flood is one process that asks for as much as its bounds allow: a scheduler with as many queries under way as "
          + "there may be, most for blocks on the SSD, and ranks that save and restore without a pause, over a "
          + "connection each. Since it takes processors too, the same is timed beside a flood of another Manager on the "
          + "same host: the ratio to that is what the flood takes of the Manager.",
      ""
    })
final class BenchFairnessCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Option(names = "--chain", paramLabel = "N", defaultValue = "1250",
      description = "Blocks of a prompt; ${DEFAULT-VALUE} are 20,000 tokens in blocks of 16.")
  private int chain;

  @Option(names = "--ranks", paramLabel = "N", defaultValue = "4",
      description = "Ranks of the flooding engine, each with a connection. Default: ${DEFAULT-VALUE}.")
  private int ranks;

  @Option(names = "--rounds", paramLabel = "N", defaultValue = "4",
      description = "Rounds; the first warms up and is not counted. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Option(names = "--seconds", paramLabel = "S", defaultValue = "5",
      description = "How long each of the three is timed in a round. Default: ${DEFAULT-VALUE}.")
  private double seconds;

  @Option(names = "--dram", paramLabel = "SIZE", defaultValue = "512MiB",
      description = "Each Manager's memory. Default: ${DEFAULT-VALUE}.")
  private ByteSize dram;

  @Option(names = "--ssd-bytes", paramLabel = "SIZE", defaultValue = "2GiB",
      description = "Size of each Manager's store. Default: ${DEFAULT-VALUE}.")
  private ByteSize ssdBytes;

  @Option(names = "--shared-memory", paramLabel = "DIR", defaultValue = "/dev/shm",
      description = "A folder on tmpfs. Default: ${DEFAULT-VALUE}.")
  private Path sharedMemory;

  @Mixin
  private JsonOption json;

  BenchFairnessCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    if (rounds < 2 || !(seconds > 0) || chain < 1 || ranks < 1) {
      throw new RefusedException(rounds + " rounds of " + seconds + " s, chains of " + chain + ", " + ranks
          + " ranks; expected at least 2 rounds, the first of which warms up, and some of the others");
    }
    FairnessBench.Settings settings = new FairnessBench.Settings(
        chain, ranks, rounds, Duration.ofMillis((long) (seconds * 1000)), dram, ssdBytes);
    FairnessBench.Result result;
    try (ScratchFolder runtime = ScratchFolder.in(sharedMemory);
        ScratchFolder elsewhere = ScratchFolder.in(sharedMemory);
        ScratchFolder stores = ScratchFolder.temporary();
        Progress progress = terminal.progress("parts", 3L * rounds)) {
      result = new FairnessBench(settings).run(runtime.path(), elsewhere.path(), stores.path(), progress);
    }
    print(result);
    json.write(asJson(result));
    return ExitCode.OK;
  }

  private void print(FairnessBench.Result result) {
    terminal.out().printf(Locale.ROOT, "lookups of %,d blocks in memory by one engine, us:%n", chain);
    Table table = new Table("lrrrr").line("", "lookups", "p50", "p99", "p99.9");
    for (Beside beside : Beside.values()) {
      table.line(name(beside), String.format(Locale.ROOT, "%,d", result.times().get(beside).getTotalCount()),
          micros(result.nanos(beside, 50)), micros(result.nanos(beside, 99)), micros(result.nanos(beside, 99.9)));
    }
    table.line("flood / alone", "", ratio(result, Beside.NOTHING, 50), ratio(result, Beside.NOTHING, 99),
            ratio(result, Beside.NOTHING, 99.9))
        .line("flood / flood elsewhere", "", ratio(result, Beside.FLOOD_ELSEWHERE, 50),
            ratio(result, Beside.FLOOD_ELSEWHERE, 99), ratio(result, Beside.FLOOD_ELSEWHERE, 99.9))
        .print(terminal.out());
    terminal.out().printf(Locale.ROOT, "under the flood %.1f %% hit in memory as a whole; the Manager answered %,.0f "
            + "queries, served %,.0f blocks from the SSD and stored %,.0f blocks a second%n", result.hits(),
        result.flooded().queries(), result.flooded().blocksFromSsd(), result.flooded().blocksSaved());
  }

  private static String name(Beside beside) {
    return switch (beside) {
      case NOTHING -> "alone";
      case FLOOD_ELSEWHERE -> "beside a flood elsewhere";
      case FLOOD -> "under the flood";
    };
  }

  private static String micros(long nanos) {
    return String.format(Locale.ROOT, "%.1f", nanos / 1e3);
  }

  private static String ratio(FairnessBench.Result result, Beside other, double percentile) {
    return String.format(Locale.ROOT, "%.2f", result.ratio(other, percentile));
  }

  private ObjectNode asJson(FairnessBench.Result result) {
    ObjectNode node = new JsonMapper().createObjectNode().put("chain", chain).put("ranks", ranks);
    for (Beside beside : Beside.values()) {
      String key = beside.name().toLowerCase(Locale.ROOT);
      node.put(key + "_us_p50", result.nanos(beside, 50) / 1e3).put(key + "_us_p99", result.nanos(beside, 99) / 1e3);
    }
    return node.put("flood_of_alone_p50", result.ratio(Beside.NOTHING, 50))
        .put("flood_of_alone_p99", result.ratio(Beside.NOTHING, 99))
        .put("flood_of_elsewhere_p50", result.ratio(Beside.FLOOD_ELSEWHERE, 50))
        .put("flood_of_elsewhere_p99", result.ratio(Beside.FLOOD_ELSEWHERE, 99))
        .put("hits_percent", result.hits())
        .put("flooded_queries_per_second", result.flooded().queries())
        .put("flooded_ssd_blocks_per_second", result.flooded().blocksFromSsd())
        .put("flooded_saved_blocks_per_second", result.flooded().blocksSaved());
  }
}
