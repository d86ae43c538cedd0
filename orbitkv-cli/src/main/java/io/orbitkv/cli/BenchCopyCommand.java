package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.cli.bench.CopyBench;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv bench copy}. */
@Command(
    name = "copy",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Measures saves and restores through the cache on the CPU device, beside plain copies of as many bytes between "
          + "the same memories in the same run, with one thread a rank.",
      "",
      "Saves count their checksums. Every byte that is restored is compared.",
      ""
    })
final class BenchCopyCommand implements Callable<Integer> {

  private final Terminal terminal;
  private final BiFunction<CacheSettings, Backends, CacheOpener> caches;

  @Option(names = "--ranks", paramLabel = "N", split = ",", defaultValue = "1,2",
      description = "Ranks that copy at the same time, one measurement each. Default: ${DEFAULT-VALUE}.")
  private List<Integer> ranks;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "2MiB",
      description = "Bytes of a block of one rank. Default: ${DEFAULT-VALUE}.")
  private ByteSize block;

  @Option(names = "--layers", paramLabel = "N", defaultValue = "32",
      description = "Layers that a block is divided into. Default: ${DEFAULT-VALUE}.")
  private int layers;

  @Option(names = "--round-bytes", paramLabel = "SIZE", defaultValue = "256MiB",
      description = "Bytes that a rank copies in a round. Default: ${DEFAULT-VALUE}.")
  private ByteSize round;

  @Option(names = "--rounds", paramLabel = "N", defaultValue = "31",
      description = "Timed rounds, after 25 that warm up. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Option(names = "--threads", paramLabel = "N", defaultValue = "1",
      description = "Threads of each rank's device. Default: ${DEFAULT-VALUE}.")
  private int threads;

  @Option(names = "--dir", paramLabel = "DIR", defaultValue = "/dev/shm",
      description = "Where the ranks' memory is made, in files. Default: ${DEFAULT-VALUE}.")
  private Path directory;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  BenchCopyCommand(Terminal terminal, BiFunction<CacheSettings, Backends, CacheOpener> caches) {
    this.terminal = terminal;
    this.caches = caches;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    if (layers < 1 || block.bytes() % layers != 0 || round.bytes() < block.bytes()) {
      throw new RefusedException("--block-bytes " + block + " in --layers " + layers + " and --round-bytes " + round
          + ", expected whole bytes for each layer, and a round of at least a block");
    }
    Backends backends = plugins.backends();
    List<CopyBench.Result> results = new ArrayList<>();
    for (int count : ranks) {
      results.add(measure(count, backends));
    }
    print(results);
    json.write(asJson(results));
    return ExitCode.OK;
  }

  private CopyBench.Result measure(int count, Backends backends) throws InterruptedException {
    CopyBench.Settings settings = new CopyBench.Settings(count, layers, Math.toIntExact(block.bytes() / layers),
        Math.toIntExact(round.bytes() / block.bytes()), rounds, 1);
    CacheSettings cache = new CacheSettings(new ByteSize(settings.memoryBytes()),
        new ByteSize(Math.multiplyExact(block.bytes(), count)), Optional.empty(), Optional.empty(), Optional.empty(),
        Map.of(), Optional.empty(), 1);
    try (ScratchFolder folder = ScratchFolder.in(directory);
        Cache opened = caches.apply(cache, backends).open().cache();
        Progress progress = terminal.progress(count + " ranks, rounds", rounds)) {
      return new CopyBench(settings).run(opened,
          () -> backends.device("cpu").open(new DeviceOptions(0, Map.of("threads", Integer.toString(threads)))),
          folder.path(), progress);
    }
  }

  private void print(List<CopyBench.Result> results) {
    terminal.out().printf(Locale.ROOT, "blocks of %s in %,d layers, %s a rank and round, device threads %d, in GB/s:%n",
        block, layers, round, threads);
    Table table = new Table("rrrrrrr").line(
        "ranks", "save", "plain copy", "ratio", "restore", "plain copy", "ratio");
    for (CopyBench.Result result : results) {
      table.line(result.settings().ranks(), figure(result.save()), figure(result.plainSave()),
          figure(result.saveRatio()), figure(result.restore()), figure(result.plainRestore()),
          figure(result.restoreRatio()));
    }
    table.print(terminal.out());
  }

  private static String figure(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private ObjectNode asJson(List<CopyBench.Result> results) {
    ObjectNode node = new JsonMapper().createObjectNode()
        .put("block_bytes", block.bytes())
        .put("layers", layers)
        .put("round_bytes", round.bytes())
        .put("rounds", rounds)
        .put("threads", threads);
    ArrayNode array = node.putArray("ranks");
    for (CopyBench.Result result : results) {
      array.addObject()
          .put("ranks", result.settings().ranks())
          .put("save_gb_s", result.save())
          .put("plain_save_gb_s", result.plainSave())
          .put("save_ratio", result.saveRatio())
          .put("restore_gb_s", result.restore())
          .put("plain_restore_gb_s", result.plainRestore())
          .put("restore_ratio", result.restoreRatio());
    }
    return node;
  }
}
