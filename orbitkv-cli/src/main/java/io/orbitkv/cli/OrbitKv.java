package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.doctor.Machine;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import java.util.function.BiFunction;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command and its subcommands, and what a person sees when something is wrong: one line. */
@Command(
    name = "orbitkv",
    description = "An external KV cache for LLM inference engines.",
    synopsisSubcommandLabel = "COMMAND",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:the work failed: a wrong byte, or something that this machine does not grant",
      "2:a mistake in the command line"
    })
final class OrbitKv implements Runnable {

  private final Terminal terminal;
  private final CommandLine commandLine;

  @Option(names = "--debug", scope = ScopeType.INHERIT, description = "Show stack traces of errors.")
  private boolean debug;

  /**
   * @param terminal where to write
   * @param caches makes the opener of caches from settings and the backends found
   */
  OrbitKv(Terminal terminal, BiFunction<CacheSettings, Backends, CacheOpener> caches) {
    this.terminal = terminal;
    this.commandLine = new CommandLine(this)
        .addSubcommand(new QuickstartCommand(terminal, caches))
        .addSubcommand(new ReplayCommand(terminal, caches))
        .addSubcommand(new ManagerCommand(terminal))
        .addSubcommand(new AgentCommand(terminal))
        .addSubcommand(new ReplayWorkerCommand(terminal))
        .addSubcommand(new InspectCommand(terminal))
        .addSubcommand(new ChaosCommand(terminal))
        .addSubcommand(new StandInCommand(terminal))
        .addSubcommand(new FloodCommand(terminal))
        .addSubcommand(new StatusCommand(terminal))
        .addSubcommand(new DoctorCommand(terminal, Machine.here()))
        .addSubcommand(new CommandLine(new PdCommand(terminal))
            .addSubcommand(new PdPlanCommand(terminal))
            .addSubcommand(new PdCheckCommand(terminal)))
        .addSubcommand(new CommandLine(new BenchCommand(terminal))
            .addSubcommand(new BenchLookupCommand(terminal, caches))
            .addSubcommand(new BenchCopyCommand(terminal, caches))
            .addSubcommand(new BenchSsdCommand(terminal))
            .addSubcommand(new BenchAllocCommand(terminal))
            .addSubcommand(new BenchRecoveryCommand(terminal, caches))
            .addSubcommand(new BenchManagerCommand(terminal))
            .addSubcommand(new BenchFairnessCommand(terminal)))
        .setOut(terminal.out())
        .setErr(terminal.err())
        .setColorScheme(CommandLine.Help.defaultColorScheme(terminal.colours() ? Ansi.ON : Ansi.OFF))
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setUsageHelpAutoWidth(false)
        .setUsageHelpWidth(110)
        .registerConverter(ByteSize.class, OrbitKv::byteSize)
        .registerConverter(SsdTier.class, OrbitKv::ssdTier)
        .setParameterExceptionHandler(this::explainMistake)
        .setExecutionExceptionHandler(this::explainFailure);
  }

  /** Runs a command line and returns the process's exit code. */
  int run(String... args) {
    int exitCode = commandLine.execute(args);
    terminal.out().flush();
    terminal.err().flush();
    return exitCode;
  }

  @Override
  public void run() {
    commandLine.usage(terminal.out());
  }

  private int explainMistake(ParameterException mistake, String[] args) {
    CommandLine command = mistake.getCommandLine();
    // The library begins some messages with a word of its own.
    String text = mistake.getMessage().replaceFirst("^Error: ", "");
    if (mistake instanceof UnmatchedArgumentException unmatched && !unmatched.getSuggestions().isEmpty()) {
      text += "; did you mean " + String.join(" or ", unmatched.getSuggestions()) + "?";
    }
    String name = command.getCommandSpec().qualifiedName();
    say(name, text + " (see '" + name + " --help')");
    return ExitCode.USAGE;
  }

  private int explainFailure(Exception failure, CommandLine command, ParseResult parsed) {
    String name = command.getCommandSpec().qualifiedName();
    if (failure instanceof OrbitKvException) {
      say(name, failure.getMessage());
    } else {
      say(name, "unexpected " + failure + (debug ? "" : " (run it again with --debug for the stack trace)"));
    }
    if (debug) {
      failure.printStackTrace(terminal.err());
    }
    return failure instanceof RefusedException ? ExitCode.USAGE : ExitCode.FAILED;
  }

  private void say(String command, String text) {
    terminal.err().println(command + ": " + text.replaceAll("\\s*\\R\\s*", " "));
  }

  private static ByteSize byteSize(String text) {
    try {
      return ByteSize.parse(text);
    } catch (RefusedException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }

  private static SsdTier ssdTier(String text) {
    try {
      return SsdTier.parse(text);
    } catch (RefusedException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }

  /** Tells the version that the module was built as. */
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String version = OrbitKv.class.getModule().getDescriptor().rawVersion().orElse("of an unpackaged build");
      return new String[] {"orbitkv " + version + ", Java " + Runtime.version()};
    }
  }
}
