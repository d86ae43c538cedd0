package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Session;
import io.orbitkv.cli.chaos.EngineStandIn;
import io.orbitkv.cli.chaos.RankedStandIn;
import io.orbitkv.cli.chaos.StandIn;
import io.orbitkv.cli.chaos.StandInStep;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.client.ManagerClient;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code orbitkv stand-in}: an engine that chaos can kill. */
@Command(
    name = "stand-in",
    hidden = true,
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = "Serves prompts without end through a Manager, as an engine would, and reports what it did.")
final class StandInCommand implements Callable<Integer> {

  private static final long REPORT_NANOS = Duration.ofMillis(100).toNanos();

  /** A step in so many is lingered in, so that faults hit every state. */
  private static final int LINGERED = 12;

  private static final long LONGEST_LINGER_NANOS = Duration.ofMillis(60).toNanos();

  private final Terminal terminal;

  @Option(names = "--manager", required = true, paramLabel = "SOCKET", description = "The Manager's socket.")
  private Path manager;

  @Option(names = "--instance", required = true, paramLabel = "NAME", description = "Its name.")
  private String instance;

  @Option(names = "--agent", paramLabel = "SOCKET",
      description = "The agent of a rank, given once for each: then shards go through these, and only its scheduler is at "
          + "the Manager.")
  private List<Path> agents = new ArrayList<>();

  @Option(names = "--pools", paramLabel = "DIR", defaultValue = "/dev/shm",
      description = "Where the files with pages are made that agents map. Default: ${DEFAULT-VALUE}.")
  private Path pools;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "64KiB",
      description = "Bytes of a block, a multiple of 8. Default: ${DEFAULT-VALUE}.")
  private ByteSize blockBytes;

  @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(names = "--hold", paramLabel = "STEP",
      description = "Go on to this step of a request, say so, and stay there until told to end: ${COMPLETION-CANDIDATES}.")
  private StandInStep hold;

  StandInCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    if (agents.isEmpty()) {
      serveByItself();
    } else {
      serveThroughAgents();
    }
    return ExitCode.OK;
  }

  private void serveThroughAgents() throws InterruptedException {
    SplittableRandom lingers = new SplittableRandom(~seed);
    try (StopSignal signal = new StopSignal();
        RankedStandIn engine = new RankedStandIn(instance, manager, agents, Math.toIntExact(blockBytes.bytes()), pools,
            seed, step -> pause(step, signal, lingers))) {
      serve(engine, signal);
    }
  }

  private void serveByItself() throws InterruptedException {
    SplittableRandom lingers = new SplittableRandom(~seed);
    try (StopSignal signal = new StopSignal();
        Arena arena = Arena.ofShared();
        ManagerClient client = ManagerClient.open(manager);
        Session session = client.attach(EngineStandIn.spec(instance, Math.toIntExact(blockBytes.bytes())))) {
      EngineStandIn engine = new EngineStandIn(session, arena, seed, step -> pause(step, signal, lingers));
      serve(engine, signal);
    }
  }

  private void serve(StandIn engine, StopSignal signal) throws InterruptedException {
    long reported = System.nanoTime();
    while (!signal.isTold()) {
      engine.serve();
      if (System.nanoTime() - reported > REPORT_NANOS) {
        terminal.out().println(engine.report().line());
        engine.forgetLongest();
        reported = System.nanoTime();
      }
    }
    terminal.out().println(engine.report().line());
  }

  private void pause(StandInStep step, StopSignal signal, SplittableRandom lingers) {
    if (step == hold) {
      terminal.out().println("holding " + step);
      while (!signal.isTold()) {
        LockSupport.parkNanos(REPORT_NANOS);
      }
    } else if (hold == null && lingers.nextInt(LINGERED) == 0) {
      LockSupport.parkNanos(lingers.nextLong(LONGEST_LINGER_NANOS));
    }
  }
}
