package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.cli.bench.Flood;
import io.orbitkv.cli.terminal.Terminal;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code orbitkv flood}: the engine that {@code bench fairness} measures beside. */
@Command(
    name = "flood",
    hidden = true,
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = "Asks a Manager for as much as it takes, until it is told to end.")
final class FloodCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Option(names = "--manager", required = true, paramLabel = "SOCKET", description = "The Manager's socket.")
  private Path manager;

  @Option(names = "--ranks", paramLabel = "N", defaultValue = "4",
      description = "Ranks, each with a connection, beside that of the scheduler. Default: ${DEFAULT-VALUE}.")
  private int ranks;

  @Option(names = "--chain", paramLabel = "N", defaultValue = "1250",
      description = "Blocks of a prompt. Default: ${DEFAULT-VALUE}.")
  private int chain;

  @Option(names = "--bytes", paramLabel = "SIZE", defaultValue = "1GiB",
      description = "Of the prompts that it asks for. Default: ${DEFAULT-VALUE}.")
  private ByteSize bytes;

  FloodCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    try (StopSignal signal = new StopSignal()) {
      long requests = new Flood(manager, ranks, chain, bytes.bytes()).run(signal::isTold, () -> terminal.out().println("ready"));
      terminal.out().println("requests " + requests);
    }
    return ExitCode.OK;
  }
}
