package io.orbitkv.cli;

import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.process.ThisProgram;
import io.orbitkv.cli.replay.ManagerReplay;
import io.orbitkv.cli.replay.ReplayPlan;
import io.orbitkv.cli.replay.ReplayReport;
import io.orbitkv.core.client.Membership;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ObjectNode;

/** A Manager to replay against, and the processes that do it. */
final class WorkerOptions implements CacheUnderReplay {

  /** What the processes are. */
  enum Mode {
    /** Ranks of one engine, whose scheduler is the command. */
    RANKS,
    /** Engines. */
    ENGINES
  }

  @Option(names = "--manager", required = true, paramLabel = "SOCKET",
      description = "Socket of a running Manager, as /dev/shm/orbitkv-USER/manager.sock.")
  private Path socket;

  @Option(names = "--workers", required = true, paramLabel = "N", description = "Processes that attach to it.")
  private int workers;

  @Option(names = "--mode", paramLabel = "MODE", defaultValue = "ranks",
      description = "What the workers are: ranks of one engine, or engines. Default: ${DEFAULT-VALUE}.")
  private Mode mode;

  Path socket() {
    return socket;
  }

  /** Returns how many ranks an engine has, given what was asked for. */
  int ranks(Integer worldSize) {
    if (workers < 1) {
      throw new RefusedException("--workers is " + workers + ", expected at least 1");
    }
    if (mode == Mode.ENGINES) {
      return worldSize == null ? 1 : worldSize;
    }
    if (worldSize != null && worldSize != workers) {
      throw new RefusedException("--world-size is " + worldSize + " and --workers " + workers
          + "; when workers are ranks, each rank has one: leave --world-size out");
    }
    return workers;
  }

  /** Runs a replay, with workers that are told the same workload. */
  ReplayReport run(ManagerReplay replay, ReplayPlan plan, List<String> workload) throws InterruptedException {
    return switch (mode) {
      case RANKS -> {
        long incarnation = Membership.newIncarnation();
        yield replay.ranks(incarnation, rank -> worker(plan, workload, "--rank", Integer.toString(rank),
            "--incarnation", Long.toString(incarnation)));
      }
      case ENGINES -> replay.engines(workers, engine -> worker(plan, workload, "--engine", Integer.toString(engine),
          "--engines", Integer.toString(workers)));
    };
  }

  private List<String> worker(ReplayPlan plan, List<String> workload, String... role) {
    List<String> arguments = new ArrayList<>(List.of(ReplayWorkerCommand.NAME, "--manager", socket.toString(),
        "--world-size", Integer.toString(plan.ranks())));
    arguments.addAll(workload);
    arguments.addAll(List.of(role));
    return ThisProgram.command(arguments);
  }

  @Override
  public String describe() {
    return "Manager at " + socket + ", " + workers + " " + name() + " in processes of their own";
  }

  @Override
  public void describe(ObjectNode settings) {
    settings.put("manager", socket.toString()).put("workers", workers).put("mode", name());
  }

  private String name() {
    return mode.name().toLowerCase(Locale.ROOT);
  }
}
