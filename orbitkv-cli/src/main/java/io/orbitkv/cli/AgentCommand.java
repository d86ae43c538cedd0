package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.cli.http.HttpSettings;
import io.orbitkv.cli.logging.CommandLog;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import io.orbitkv.core.EmbeddedCache;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.CacheLink;
import io.orbitkv.core.agent.EngineAdapter;
import io.orbitkv.core.agent.ManagerLink;
import io.orbitkv.core.agent.SchedulerEndpoint;
import io.orbitkv.core.manager.Manager;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
          + "in order, when every copy is drained; so does the end of its input with --until-eof.",
      ""
    },
    footer = {"", "Ends with 0 when it was told to end."})
final class AgentCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Option(names = "--socket", required = true, paramLabel = "PATH",
      description = "Where the engine worker finds it: in a folder of this user alone, made if it is missing. May be "
          + "given again, for a worker with several pools of pages: each pool is served at one of its own.")
  private List<Path> sockets;

  @ArgGroup(multiplicity = "1")
  private CacheChoice cache;

  @ArgGroup(exclusive = false, heading = "%nThe scheduler of an engine, beside its worker of rank 0:%n")
  private EngineOptions engine;

  @Mixin
  private HttpOptions http;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "256KiB",
      description = "How large most blocks of a cache of its own will be, for the sizes of tables. "
          + "Default: ${DEFAULT-VALUE}.")
  private ByteSize blockBytes;

  @Option(names = "--until-eof",
      description = "End in order when standard input ends, as it does when whoever started this ends, in any way.")
  private boolean untilEof;

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
    private OwnCache own;
  }

  /** A cache in this process. */
  static final class OwnCache extends CacheOptions {

    @Option(names = "--host-manager", paramLabel = "DIR",
        description = "Be a Manager too, with its socket and the blocks in this private folder in memory, so that the "
            + "agents of other ranks share the cache.")
    private Path hosted;
  }

  /** What one engine's adapter needs. */
  static final class EngineOptions {

    @Option(names = "--engine", required = true, paramLabel = "NAME",
        description = "Translate for the scheduler of this engine, which needs a Manager. Its adapter is one of the "
            + "modules, or a plugin.")
    private String name;

    @Option(names = "--engine-socket", required = true, paramLabel = "PATH",
        description = "Where the scheduler finds it: in a folder of this user alone, made if it is missing.")
    private Path socket;

    @Option(names = "--state-folder", paramLabel = "DIR",
        defaultValue = "${env:XDG_CACHE_HOME:-${sys:user.home}/.cache}/orbitkv",
        description = "What the adapter keeps from one start to the next, such as digests of models' files. "
            + "Default: ${DEFAULT-VALUE}.")
    private Path state;
  }

  @Override
  public Integer call() throws InterruptedException {
    Backends backends = plugins.backends();
    // Before anything is taken: a mistake in an option must not cost a recovery.
    boolean alone = cache.own != null && cache.own.hosted == null;
    if (engine != null && alone) {
      throw new RefusedException("--engine " + engine.name + " needs a Manager, where its scheduler and its workers "
          + "meet; add --host-manager, or name one with --manager");
    }
    Optional<EngineAdapter> adapter = Optional.ofNullable(engine).map(chosen -> backends.adapter(chosen.name));
    Optional<HttpSettings> shown = http.settings(HttpOptions.OFF);
    if (shown.isPresent() && (cache.own == null || cache.own.hosted == null)) {
      throw new RefusedException(
          "--http shows a Manager, and this agent hosts none; leave it out, or add --host-manager");
    }
    try (StopSignal signal = new StopSignal()) {
      if (untilEof) {
        signal.orAtTheEndOf(System.in);
      }
      try (Device opened = backends.device(device).open(new DeviceOptions(ordinal, deviceSettings))) {
        if (cache.own == null) {
          serveFrom(cache.manager, opened, adapter, "the Manager at " + cache.manager, signal);
        } else if (alone) {
          try (EmbeddedCache embedded = settings().configure(EmbeddedCache.builder(), backends).open()) {
            serveItself(embedded, opened, signal);
          }
        } else {
          Manager.Builder builder =
              settings().configure(Manager.builder(), backends).runtimeDirectory(cache.own.hosted);
          try (CommandLog.ServiceLog _ = CommandLog.ofService();
              ServedManager manager = ServedManager.open(builder, shown)) {
            // As any other member attaches: one way, also for the ranks in other processes.
            serveFrom(manager.socket(), opened, adapter, "a Manager at " + manager.describe(), signal);
          }
        }
      }
    }
    return ExitCode.OK;
  }

  private CacheSettings settings() {
    return cache.own.settings(blockBytes, System.nanoTime());
  }

  private void serveItself(EmbeddedCache embedded, Device opened, StopSignal signal) throws InterruptedException {
    List<HostRegion> regions = embedded.memory().stream().map(opened::hostMemory).toList();
    try {
      serve(opened, CacheLink.embedded(embedded), Optional.empty(), embedded.describeMemory(), signal);
    } finally {
      regions.forEach(HostRegion::close);
    }
  }

  private void serveFrom(
      Path manager, Device opened, Optional<EngineAdapter> adapter, String described, StopSignal signal)
      throws InterruptedException {
    try (ManagerLink link = new ManagerLink(manager, opened)) {
      serve(opened, link, adapter, described, signal);
    }
  }

  private void serve(
      Device opened, CacheLink link, Optional<EngineAdapter> adapter, String described, StopSignal signal)
      throws InterruptedException {
    try (Agents agents = Agents.start(sockets, opened, link);
        SchedulerEndpoint scheduler =
            adapter.map(of -> of.open(new AdapterOptions(engine.socket, link, engine.state))).orElse(null)) {
      terminal.out().println("ready: " + agents.describe() + ", device " + device + ", " + described
          + (scheduler == null ? "" : ", " + engine.name + " scheduler at " + scheduler.socket()));
      signal.await();
    }
  }
}
