package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.cli.http.HttpSettings;
import io.orbitkv.cli.logging.CommandLog;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.manager.Manager;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code orbitkv manager}. */
@Command(
    name = "manager",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Owns the cache of a host and serves it to engines over a Unix socket, in the foreground.",
      "",
      "Prints one line when it serves. SIGTERM or SIGINT ends it in order: it admits nothing more, waits a while for "
          + "transfers, writes what is not on the SSD yet, and removes its socket and memory.",
      ""
    },
    footer = {"", "Ends with 0 after a signal."})
final class ManagerCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Mixin
  private CacheOptions cache;

  @Mixin
  private HttpOptions http;

  @Mixin
  private PluginOptions plugins;

  @Option(names = "--runtime", paramLabel = "DIR",
      description = "Private folder in memory for the socket and the blocks. Default: /dev/shm/orbitkv-USER.")
  private Path runtime;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "256KiB",
      description = "How large most blocks will be over all ranks, for the sizes of tables. Default: ${DEFAULT-VALUE}.")
  private ByteSize blockBytes;

  @Option(names = "--connections", paramLabel = "N", defaultValue = "" + Manager.Builder.DEFAULT_CONNECTIONS,
      description = "Connections at once; one more is refused. Default: ${DEFAULT-VALUE}.")
  private int connections;

  @Option(names = "--instance-lease-budget", paramLabel = "SIZE",
      description = "Bytes that leases and reads of one engine instance may hold. Default: three eighths of --dram.")
  private ByteSize instanceLeaseBudget;

  /** Read by the launcher, since the JVM has to be told when it starts. */
  @Option(names = "--gc-log", paramLabel = "FILE", description = "Have the JVM log its pauses to a file.")
  private Path gcLog;

  ManagerCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    Manager.Builder builder = cache.settings(blockBytes, System.nanoTime())
        .configure(Manager.builder(), plugins.backends())
        .connections(connections);
    if (runtime != null) {
      builder.runtimeDirectory(runtime);
    }
    if (instanceLeaseBudget != null) {
      builder.instanceLeaseBudget(instanceLeaseBudget);
    }
    // Before anything is taken: a mistake in an option must not cost a recovery.
    Optional<HttpSettings> settings = http.settings(HttpOptions.LOOPBACK);
    try (CommandLog.ServiceLog _ = CommandLog.ofService();
        StopSignal signal = new StopSignal();
        ServedManager served = ServedManager.open(builder, settings)) {
      terminal.out().println("ready: " + served.describe());
      signal.await();
    }
    return ExitCode.OK;
  }
}
