package io.orbitkv.cli;

import io.orbitkv.cli.terminal.Terminal;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code orbitkv bench}: says what there is to measure. */
@Command(
    name = "bench",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = "Measures this machine: lookups, fairness, copies, the SSD tier beside fio, the allocator, recovery.",
    synopsisSubcommandLabel = "COMMAND")
final class BenchCommand implements Runnable {

  private final Terminal terminal;

  @Spec
  private CommandSpec spec;

  BenchCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public void run() {
    spec.commandLine().usage(terminal.out());
  }
}
