package io.orbitkv.cli;

import io.orbitkv.cli.terminal.Terminal;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code orbitkv pd}. */
@Command(
    name = "pd",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    description = {
      "Composes prefill and decode workers with the cache, on the engines' own transports.",
      "",
      "A file names the engine, its workers, the transport and the router; docs/pd.md has one for each engine.",
      ""
    })
final class PdCommand implements Runnable {

  private final Terminal terminal;

  @Spec
  private CommandSpec spec;

  PdCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public void run() {
    spec.commandLine().usage(terminal.out());
  }
}
