package io.orbitkv.cli;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.cli.replay.ReplayPlan;
import io.orbitkv.cli.replay.Worker;
import io.orbitkv.cli.terminal.Terminal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What {@code orbitkv replay --manager} starts. Nobody types it. */
@Command(
    name = ReplayWorkerCommand.NAME,
    hidden = true,
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = "A rank or an engine of a replay, which talks with its parent over input and output.")
final class ReplayWorkerCommand implements Callable<Integer> {

  static final String NAME = "replay-worker";

  private final Terminal terminal;

  @Mixin
  private WorkloadOptions workload;

  @Option(names = "--manager", required = true, description = "Socket of the Manager.")
  private Path socket;

  @Option(names = "--world-size", required = true, description = "Ranks of an engine.")
  private int worldSize;

  @Option(names = "--rank", description = "Be this rank of the parent's engine.")
  private Integer rank;

  @Option(names = "--incarnation", description = "Of the parent's engine.")
  private long incarnation;

  @Option(names = "--engine", description = "Be this engine.")
  private int engine;

  @Option(names = "--engines", description = "How many engines there are.")
  private int engines;

  @Mixin
  private PluginOptions plugins;

  ReplayWorkerCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    ReplayPlan plan = workload.plan(worldSize, List.of());
    try (Device device = plugins.backends().device("cpu").open(new DeviceOptions(0, Map.of()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      Worker worker = new Worker(plan, socket, device, in, terminal.out(), terminal.err()::println);
      if (rank != null) {
        worker.runRank(incarnation, rank);
      } else {
        worker.runEngine(engine, engines);
      }
    } catch (IOException e) {
      throw new UnavailableException("the parent of a replay's worker is gone: " + e.getMessage(), e);
    }
    return ExitCode.OK;
  }
}
