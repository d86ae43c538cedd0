package io.orbitkv.cli;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.replay.ManagerReplay;
import io.orbitkv.cli.replay.Replay;
import io.orbitkv.cli.replay.ReplayPlan;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
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
      "With --manager the cache is a running Manager's, and --workers processes attach to it: as the ranks of one "
          + "engine, or as engines that each serve their share of the requests at the same time. A Manager that dies is "
          + "gone without: what it promised and no rank had restored is computed, and counted as hits lost.",
      "",
      "Save and restore GB/s are bytes (10^9) over the time spent in those operations, copies and checksums included. "
          + "Lookup is the time of a query and its first answer, with the chain computed before.",
      ""
    },
    footer = {"", "Ends with 0 only if every restored byte was right, with 1 if any was wrong."})
final class ReplayCommand implements Callable<Integer> {

  private final Terminal terminal;
  private final BiFunction<CacheSettings, Backends, CacheOpener> caches;

  @Mixin
  private WorkloadOptions workload;

  @ArgGroup(multiplicity = "1")
  private Target target;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  @Option(names = "--world-size", paramLabel = "N",
      description = "Ranks of an engine; each saves and restores its shard. Default: 1, or with ranks as workers their "
          + "number.")
  private Integer worldSize;

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
    ReplaySummary summary = target.manager == null ? embedded() : managed(target.manager);
    summary.print(terminal.out());
    json.write(summary.json());
    return summary.report().mismatches() == 0 ? ExitCode.OK : ExitCode.FAILED;
  }

  private ReplaySummary embedded() throws InterruptedException {
    CacheSettings settings = target.cache.settings(workload.blockBytes(), workload.seed());
    if (!restartsAt.isEmpty() && settings.ssd().isEmpty()) {
      throw new RefusedException("--restart-at needs --ssd: nothing in memory outlives a restart");
    }
    ReplayPlan plan = workload.plan(worldSize == null ? 1 : worldSize, restartsAt);
    Backends backends = plugins.backends();
    try (Device device = backends.device("cpu").open(new DeviceOptions(0, Map.of()));
        Progress progress = terminal.progress("replay", plan.workload().prompts().size())) {
      return new ReplaySummary(settings, new Replay(
          plan, caches.apply(settings, backends), device, progress, terminal.err()::println).run());
    }
  }

  private ReplaySummary managed(WorkerOptions workers) throws InterruptedException {
    if (!restartsAt.isEmpty()) {
      throw new RefusedException("--restart-at closes and opens a cache, and with --manager the cache is the Manager's; "
          + "restart that instead");
    }
    ReplayPlan plan = workload.plan(workers.ranks(worldSize), List.of());
    try (Progress progress = terminal.progress("replay", plan.workload().prompts().size())) {
      ManagerReplay replay = new ManagerReplay(plan, workers.socket(), progress, terminal.err()::println);
      return new ReplaySummary(workers, workers.run(replay, plan, workload.arguments()));
    }
  }

  /** Whose cache it is: this process's own, or a Manager's. */
  private static final class Target {

    @ArgGroup(exclusive = false, multiplicity = "1")
    private CacheOptions cache;

    @ArgGroup(exclusive = false, multiplicity = "1")
    private WorkerOptions manager;

    private Target() {}
  }
}
