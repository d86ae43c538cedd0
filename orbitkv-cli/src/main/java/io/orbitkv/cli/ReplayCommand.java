package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.replay.Replay;
import io.orbitkv.cli.replay.ReplayPlan;
import io.orbitkv.cli.replay.ReplayReport;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.cli.workload.TraceFile;
import io.orbitkv.cli.workload.Workload;
import io.orbitkv.cli.workload.WorkloadShape;
import io.orbitkv.core.Backends;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code orbitkv replay}. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Serves the requests of a trace, or generated ones, through the whole path of a cache, and checks every byte.",
      "",
      "For each request: query the chain of its blocks, restore the hit into the pages of every rank of a stand-in "
          + "engine, compare each restored byte with what the block's name says it must be, 'compute' the missing "
          + "blocks and save them. Hits count the leading run of cached blocks. One request runs at a time, as fast "
          + "as it goes: timestamps of a trace are ignored.",
      "",
      "Save and restore GB/s are bytes (10^9) over the time spent in those operations, copies and checksums included. "
          + "Lookup is the time of a query and its first answer, with the chain computed before.",
      ""
    },
    footer = {"", "Ends with 0 only if every restored byte was right, with 1 if any was wrong."})
final class ReplayCommand implements Callable<Integer> {

  /** Requests of a generated workload when nothing else is said. */
  private static final int GENERATED_REQUESTS = 2_000;

  private final Terminal terminal;
  private final BiFunction<CacheSettings, Backends, CacheOpener> caches;

  @ArgGroup(multiplicity = "1")
  private Source source;

  @Mixin
  private CacheOptions cache;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  @Option(names = "--seed", paramLabel = "N", defaultValue = "1",
      description = "Decides generated prompts, pages and random choices. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(names = "--limit", paramLabel = "N",
      description = "Requests at most. Default: all of a trace, " + GENERATED_REQUESTS + " generated ones.")
  private Integer limit;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "64KiB",
      description = "Bytes of a block over all ranks and layers. Default: ${DEFAULT-VALUE}.")
  private ByteSize blockBytes;

  @Option(names = "--world-size", paramLabel = "N", defaultValue = "1",
      description = "Ranks of the engine; each saves and restores its shard. Default: ${DEFAULT-VALUE}.")
  private int worldSize;

  @Option(names = "--layers", paramLabel = "N", defaultValue = "4",
      description = "Layers of the engine, each with a page of every block. Default: ${DEFAULT-VALUE}.")
  private int layers;

  @Option(names = "--restart-at", paramLabel = "N", split = ",",
      description = "After N requests flush, close the cache, open it again and go on. Several: N,N,...")
  private List<Integer> restartsAt = new ArrayList<>();

  ReplayCommand(Terminal terminal, BiFunction<CacheSettings, Backends, CacheOpener> caches) {
    this.terminal = terminal;
    this.caches = caches;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    CacheSettings settings = cache.settings(blockBytes, seed);
    if (!restartsAt.isEmpty() && settings.ssd().isEmpty()) {
      throw new RefusedException("--restart-at needs --ssd: nothing in memory outlives a restart");
    }
    ReplayPlan plan =
        new ReplayPlan(source.workload(seed, limit), blockBytes.bytes(), worldSize, layers, restartsAt, seed);
    Backends backends = plugins.backends();
    ReplayReport report;
    try (Device device = backends.device("cpu").open(new DeviceOptions(0, Map.of()));
        Progress progress = terminal.progress("replay", plan.workload().prompts().size())) {
      report = new Replay(plan, caches.apply(settings, backends), device, progress, terminal.err()::println).run();
    }
    ReplaySummary summary = new ReplaySummary(settings, report);
    summary.print(terminal.out());
    json.write(summary.json());
    return report.mismatches() == 0 ? ExitCode.OK : ExitCode.FAILED;
  }

  /** Where the requests come from: exactly one of the two. */
  private static final class Source {

    @Option(names = "--trace", required = true, paramLabel = "FILE",
        description = "A trace: one JSON object a line, with the prompt's block ids in 'hash_ids'.")
    private Path trace;

    @Option(names = "--workload", required = true, paramLabel = "NAME",
        description = "A generated workload: multi-turn, shared-prefix or long-doc.")
    private String workload;

    private Source() {}

    Workload workload(long seed, Integer limit) {
      if (limit != null && limit < 1) {
        throw new RefusedException("--limit is " + limit + ", expected at least 1");
      }
      return trace != null
          ? new TraceFile(trace).read(limit == null ? Integer.MAX_VALUE : limit)
          : WorkloadShape.named(workload).generate(seed, limit == null ? GENERATED_REQUESTS : limit);
    }
  }
}
