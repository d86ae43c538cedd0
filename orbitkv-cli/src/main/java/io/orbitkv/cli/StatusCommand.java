package io.orbitkv.cli;

import io.orbitkv.cli.http.StatusClient;
import io.orbitkv.cli.terminal.Terminal;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv status}. */
@Command(
    name = "status",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {"Shows what the Manager of this host, or of another address, is doing.", ""},
    footer = {"", "Ends with 0 if the Manager answers and is ready, else with 1."})
final class StatusCommand implements Callable<Integer> {

  private final Terminal terminal;

  @ArgGroup
  private Where where = new Where();

  @Option(names = "--token-file", paramLabel = "FILE",
      description = "Private file with the Manager's token, which it wants beyond its own host.")
  private Path tokenFile;

  @Option(names = "--tls-ca", paramLabel = "FILE",
      description = "PEM certificates that the Manager's is to be signed by. Default: those that Java trusts.")
  private Path trusted;

  @Option(names = "--json", description = "Print the status as one JSON object.")
  private boolean json;

  StatusCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  /** One of two ways to find it. */
  static final class Where {
    @Option(names = "--http", paramLabel = "URL", description = "Address of the Manager, as http://127.0.0.1:9470.")
    private URI http;

    @Option(names = "--runtime", paramLabel = "DIR",
        description = "Runtime folder of the Manager, which holds its address. Default: /dev/shm/orbitkv-USER.")
    private Path runtime = Path.of("/dev/shm", "orbitkv-" + System.getProperty("user.name"));

    URI address() {
      return http != null ? http : StatusClient.addressIn(runtime);
    }
  }

  @Override
  public Integer call() throws InterruptedException {
    ObjectNode status =
        StatusClient.status(where.address(), Optional.ofNullable(tokenFile), Optional.ofNullable(trusted));
    if (json) {
      terminal.out().println(JsonOption.text(status));
    } else {
      new StatusTable(status).print(terminal.out());
    }
    return status.path("ready").asBoolean() ? ExitCode.OK : ExitCode.FAILED;
  }
}
