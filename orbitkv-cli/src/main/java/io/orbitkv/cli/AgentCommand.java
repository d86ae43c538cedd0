package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import io.orbitkv.core.EmbeddedCache;
import io.orbitkv.core.agent.Agent;
import io.orbitkv.core.agent.AgentOptions;
import io.orbitkv.core.agent.CacheLink;
import io.orbitkv.core.agent.ManagerLink;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code orbitkv agent}. */
@Command(
    name = "agent",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Copies between the pages of one engine worker and a cache: that of a node Manager, or one of its own.",
      "",
      "Prints one line when it listens, and serves one worker at a time in the foreground. SIGTERM or SIGINT ends it "
          + "in order: when every copy is drained.",
      ""
    },
    footer = {"", "Ends with 0 after a signal."})
final class AgentCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Option(names = "--socket", required = true, paramLabel = "PATH",
      description = "Where the engine worker finds it: in a folder of this user alone, made if it is missing.")
  private Path socket;

  @ArgGroup(multiplicity = "1")
  private CacheChoice cache;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "256KiB",
      description = "How large most blocks of a cache of its own will be, for the sizes of tables. "
          + "Default: ${DEFAULT-VALUE}.")
  private ByteSize blockBytes;

  @Option(names = "--device", paramLabel = "NAME", defaultValue = "cpu",
      description = "Where the worker's pages lie. Default: ${DEFAULT-VALUE}.")
  private String device;

  @Option(names = "--device-ordinal", paramLabel = "N", defaultValue = "0",
      description = "Which device of that kind. Default: ${DEFAULT-VALUE}.")
  private int ordinal;

  @Option(names = "--device-setting", paramLabel = "KEY=VALUE",
      description = "A setting of the device, as threads=4; may be given again.")
  private Map<String, String> deviceSettings = new LinkedHashMap<>();

  @Mixin
  private PluginOptions plugins;

  AgentCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  /** One of the two. */
  static final class CacheChoice {

    @Option(names = "--manager", required = true, paramLabel = "SOCKET",
        description = "The socket of the node's Manager, which need not run yet.")
    private Path manager;

    @ArgGroup(exclusive = false, heading = "%nA cache of its own, for a worker that is a whole engine:%n")
    private CacheOptions own;
  }

  @Override
  public Integer call() throws InterruptedException {
    Backends backends = plugins.backends();
    try (StopSignal signal = new StopSignal();
        Device opened = backends.device(device).open(new DeviceOptions(ordinal, deviceSettings))) {
      if (cache.own == null) {
        try (ManagerLink link = new ManagerLink(cache.manager, opened)) {
          serve(opened, link, "the Manager at " + cache.manager, signal);
        }
      } else {
        try (EmbeddedCache embedded = cache.own.settings(blockBytes, System.nanoTime())
            .configure(EmbeddedCache.builder(), backends).open()) {
          List<HostRegion> regions = embedded.memory().stream().map(opened::hostMemory).toList();
          try {
            serve(opened, CacheLink.embedded(embedded), embedded.describeMemory(), signal);
          } finally {
            regions.forEach(HostRegion::close);
          }
        }
      }
    }
    return ExitCode.OK;
  }

  private void serve(Device opened, CacheLink link, String described, StopSignal signal) throws InterruptedException {
    try (Agent agent = Agent.start(new AgentOptions(socket, opened, link))) {
      terminal.out().println("ready: " + agent.socket() + ", device " + device + ", " + described);
      signal.await();
    }
  }
}
