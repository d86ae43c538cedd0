package io.orbitkv.cli.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.ByteSize;
import io.orbitkv.cli.PluginBuild;
import io.orbitkv.cli.http.StatusClient;
import io.orbitkv.core.client.ManagerClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Every fault in every state of an agent: for each state there is an agent and an engine in Python, and what happens is
 * done to them one after another, while another engine works on. What was seen is a table of {@code docs/faults.md}: at
 * the end it is written to {@code target/agent-faults.md} and compared.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class AgentFaultMatrixTest {

  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Duration STOP = Duration.ofSeconds(30);
  private static final Duration MEMORY_BACK = Duration.ofSeconds(1);
  private static final Duration REQUEST = Duration.ofSeconds(5);
  private static final Duration RECONNECT = Duration.ofSeconds(5);
  private static final ByteSize DRAM = ByteSize.parse("192MiB");
  private static final ByteSize SSD = ByteSize.parse("512MiB");

  private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private static final JsonMapper JSON = new JsonMapper();

  /** Tag of an engine's last request. */
  private static final int CLOSE = 12;

  private final List<String> rows = new ArrayList<>();
  private final Map<AgentState, Bench> benches = new EnumMap<>(AgentState.class);
  private final List<AutoCloseable> open = new ArrayList<>();
  /** Many that start at once would all be slow. */
  private final Semaphore starting = new Semaphore(3);
  private final HttpClient http = HttpClient.newHttpClient();
  private String python;
  private Path folder;
  private Path shared;
  private Node node;
  /** Its Manager is killed before each fault, for agents that are alone then. */
  private Node doomed;
  private StandInProcess worker;
  private int lastSeed;

  @BeforeAll
  void startEverything(@TempDir Path stores) throws Exception {
    folder = stores;
    python = pythonWithPackages();
    shared = Files.createTempDirectory(Path.of("/dev/shm"), "orbitkv-faults-");
    Path plugins = Files.createDirectory(folder.resolve("plugins"));
    PluginBuild.jar("held-device", plugins.resolve("held-device.jar"));
    Files.createDirectory(shared.resolve("agents"), PRIVATE);
    node = opened(new Node("node"));
    doomed = opened(new Node("doomed"));
    worker = opened(new StandInProcess("worker", node.socket(), 64 << 10, 1, List.of()));
    for (AgentState state : AgentState.values()) {
      benches.put(state, opened(new Bench(state, plugins)));
    }
    inParallel(benches.values(), bench -> {
      bench.startAgent();
      bench.startEngine();
      assertThat(bench.engine.ask("store " + bench.seed)).isEqualTo("stored " + Bench.BLOCKS);
    });
    for (Node each : List.of(node, doomed)) {
      try (ManagerClient client = ManagerClient.open(each.socket())) {
        assertThat(client.flush(LIMIT)).isTrue();
      }
    }
    worker.takeLongestMillis();
  }

  // ---- faults

  @Test
  @Order(1)
  void engineCutOff() throws Exception {
    afterEach(bench -> {
      bench.reach(true);
    }, bench -> {
      AgentState state = bench.state;
      bench.toAgent.cut();
      bench.hearLate();
      if (state.hasPages() && state != AgentState.LOADED) {
        // The agent has not drained, so it welcomes nobody.
        assertThat(bench.engine.ask("held")).as(state + ": pages").isEqualTo("held " + Bench.BLOCKS);
      }
      bench.letGo();
      bench.awaitNothingHeld(MEMORY_BACK);
    }, bench -> {
      assertThat(bench.engine.ask("settle")).isEqualTo("settled 0 0");
      bench.goesOn();
    });
    rows("engine's connection cut", state -> state.hasPages()
        ? "pages are the engine's when the agent has drained and welcomes it, not before"
        : "the engine is welcomed and goes on");
  }

  @Test
  @Order(2)
  void managerCutOff() throws Exception {
    for (Bench bench : benches.values()) {
      if (!bench.state.isAlone()) {
        bench.reach(false);
        bench.toManager.cut();
        if (bench.state.kept == AgentState.Kept.COPIES) {
          awaitTrue(bench.state + ": quarantine", LIMIT, () -> bench.node.isQuarantined(bench.name));
        }
        bench.letGo();
        bench.hearLate();
        long drained = System.nanoTime();
        String settled = bench.engine.ask("settle");
        assertThat(settled).as(bench.state + ": what arrived")
            .isEqualTo(isLoaded(bench.state) ? "settled " + Bench.BLOCKS + " 0" : "settled 0 0");
        bench.awaitNothingHeld(RECONNECT);
        bench.goesOn();
        assertThat(Duration.ofNanos(System.nanoTime() - drained)).isLessThan(RECONNECT);
        if (bench.state == AgentState.COMMITTED) {
          assertThat(bench.engine.ask("check " + bench.saved)).isEqualTo("right " + Bench.BLOCKS);
        }
      }
    }
    rows("Manager's connection cut", state -> {
      if (state.isAlone()) {
        return null;
      }
      String granted = state.isGranted() ? "quarantined until the agent says that it is drained; " : "";
      return granted + (isLoaded(state) ? "what it copies arrives" : switch (state) {
        case LOAD_ASKED, LOAD_GRANTED -> "the load is refused, and the engine computes";
        case SAVE_ASKED, SAVE_GRANTED, SAVING, SAVED, ENDING -> "the save is reported as not kept";
        case COMMITTED -> "the save is kept, and reported as not kept";
        default -> "queries miss";
      }) + "; the Manager is used again within 5 s";
    });
  }

  private static boolean isLoaded(AgentState state) {
    return state == AgentState.LOADING || state == AgentState.LOADED;
  }

  @Test
  @Order(3)
  void engineKilled() throws Exception {
    afterEach(bench -> bench.reach(false), bench -> {
      bench.engine.kill();
      bench.letGo();
      bench.awaitNothingHeld(MEMORY_BACK);
    }, bench -> {
      bench.startEngine();
      bench.goesOn();
      if (isKept(bench.state)) {
        assertThat(bench.engine.ask("check " + bench.saved)).isEqualTo("right " + Bench.BLOCKS);
      }
    });
    rows("engine killed", state -> isKept(state)
        ? "the save is drained and kept; the next engine is welcomed then, and loads it"
        : state.hasPages() ? "what is under way is drained; the next engine is welcomed then"
            : "the next engine is welcomed");
  }

  private static boolean isKept(AgentState state) {
    return switch (state) {
      case SAVING, SAVED, COMMITTED, ENDING -> true;
      default -> false;
    };
  }

  @Test
  @Order(4)
  void agentStopped() throws Exception {
    long[] end = new long[1];
    afterEach(bench -> bench.reach(false), bench -> bench.agent.signal("STOP"), bench -> {
      end[0] = System.nanoTime() + STOP.toNanos();
      while (System.nanoTime() < end[0]) {
        long start = System.nanoTime();
        bench.hearLate();
        assertThat(bench.engine.ask("held")).as(bench.state + ": pages while the agent is stopped")
            .isEqualTo("held " + (bench.state.hasPages() ? Bench.BLOCKS : 0));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(REQUEST.plus(MEMORY_BACK));
        Thread.sleep(1000);
      }
      if (!bench.state.isAlone()) {
        assertThat(bench.node.isQuarantined(bench.name)).isFalse();
      }
      bench.agent.signal("CONT");
      bench.letGo();
      bench.engine.ask("settle");
      bench.awaitNothingHeld(LIMIT);
      bench.goesOn();
    });
    rows("agent stopped for 30 s", state -> (state.hasPages()
        ? "its pages are not the engine's, until it goes on and welcomes the engine"
        : "calls end by their deadlines; the engine is welcomed when it goes on") + "; nothing is quarantined");
  }

  @Test
  @Order(5)
  void agentKilled() throws Exception {
    afterEach(bench -> bench.reach(false), bench -> {
      bench.agent.kill();
      bench.letGo();
      bench.awaitNothingHeld(MEMORY_BACK);
      bench.hearLate();
      if (!bench.state.needsRelay()) {
        // It sees the process gone, and has its pages before there is another agent.
        assertThat(bench.engine.ask("settle")).isEqualTo("settled 0 0");
      } else {
        assertThat(bench.engine.ask("held")).isEqualTo("held " + (bench.state.hasPages() ? Bench.BLOCKS : 0));
      }
    }, bench -> {
      bench.startAgent();
      if (bench.state.needsRelay()) {
        // It does not see whose process it was, and has its pages when the next agent welcomes it.
        assertThat(bench.engine.ask("settle")).isEqualTo("settled 0 0");
      }
      bench.goesOn();
      if (bench.state == AgentState.COMMITTED) {
        assertThat(bench.engine.ask("check " + bench.saved)).isEqualTo("right " + Bench.BLOCKS);
      }
    });
    rows("agent killed", state -> (state.isGranted() ? "quarantined, proven dead, memory free within 1 s; "
        : state == AgentState.COMMITTED ? "what was committed stays; " : "")
        + (state.needsRelay() && state.hasPages() ? "pages are the engine's when the next agent welcomes it"
            : state.hasPages() ? "pages are the engine's when the process is gone" : "the next agent is used"));
  }

  @AfterAll
  void nothingIsLeft_andTheDocumentationHasWhatWasSeen() throws Exception {
    try {
      assertThat(worker.report().mismatches()).isZero();
      assertThat(worker.end(LIMIT)).isZero();
      inParallel(benches.values(), bench -> {
        bench.engine.end();
        assertThat(bench.agent.end(LIMIT)).as("exit code of the agent in state " + bench.state).isZero();
      });
      benches.values().forEach(Bench::closeRelays);
      // A lock stays: were it removed, two agents could lock two files.
      assertThat(filesOf(shared.resolve("agents"))).allMatch(name -> name.endsWith(".sock.lock"));
      for (Node each : List.of(node, doomed)) {
        awaitTrue("all gauges to be zero", LIMIT, each::isQuiet);
        assertThat(each.manager.end(LIMIT)).isZero();
        each.start();
        assertThat(filesOf(each.runtime)).noneMatch(name -> name.startsWith("witness"));
        assertThat(each.manager.end(LIMIT)).isZero();
      }
    } finally {
      http.close();
      for (AutoCloseable each : open.reversed()) {
        each.close();
      }
      try (Stream<Path> files = Files.walk(shared)) {
        for (Path file : files.sorted((a, b) -> b.compareTo(a)).toList()) {
          Files.delete(file);
        }
      }
    }
    String table = "| fault | in state | seen |\n|---|---|---|\n" + String.join("\n", rows) + "\n";
    Files.writeString(Path.of("target", "agent-faults.md"), table);
    assertThat(Files.readString(Path.of("..", "docs", "faults.md")))
        .as("docs/faults.md: take over orbitkv-cli/target/agent-faults.md").contains(table);
  }

  // ---- the course of a fault

  /** Does something to a bench. */
  @FunctionalInterface
  private interface Action {
    void on(Bench bench) throws Exception;
  }

  /** Says what was seen in a state; null if the fault cannot happen there. */
  @FunctionalInterface
  private interface Seen {
    String in(AgentState state);
  }

  /**
   * Has a fault happen in every state, one after another, and lets all recover at once.
   *
   * @param reach takes the bench into its state
   * @param fault what happens to it there, and what is to be seen at once
   * @param recover what is to be seen after it
   */
  private void afterEach(Action reach, Action fault, Action recover) throws Exception {
    for (Bench bench : benches.values()) {
      if (!bench.state.isAlone()) {
        reach.on(bench);
        fault.on(bench);
      }
    }
    List<Bench> alone = benches.values().stream().filter(bench -> bench.state.isAlone()).toList();
    for (Bench bench : alone) {
      reach.on(bench);
    }
    doomed.manager.kill();
    for (Bench bench : alone) {
      fault.on(bench);
    }
    doomed.start();
    long requests = worker.report().requests();
    inParallel(benches.values(), recover);
    awaitTrue("the working engine to go on", LIMIT, () -> worker.report().requests() > requests);
    assertThat(worker.takeLongestMillis()).as("longest request of the working engine").isLessThan(REQUEST.toMillis());
    assertThat(worker.report().mismatches()).isZero();
  }

  private void rows(String fault, Seen seen) {
    for (AgentState state : AgentState.values()) {
      String what = seen.in(state);
      if (what != null) {
        rows.add("| " + fault + " | " + state + " | " + what + " |");
      }
    }
  }

  private static void inParallel(Iterable<Bench> benches, Action action) throws Exception {
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      List<Future<?>> all = new ArrayList<>();
      for (Bench bench : benches) {
        all.add(threads.submit((Callable<?>) () -> {
          action.on(bench);
          return null;
        }));
      }
      for (Future<?> each : all) {
        try {
          each.get();
        } catch (ExecutionException e) {
          throw e.getCause() instanceof AssertionError failure ? failure : new AssertionError(e);
        }
      }
    }
  }

  // ---- what it happens to

  /** A Manager and what it says of itself. */
  private final class Node implements AutoCloseable {
    private final String name;
    private final Path runtime;
    private ManagerProcess manager;

    Node(String name) throws Exception {
      this.name = name;
      this.runtime = Files.createDirectory(shared.resolve(name), PRIVATE);
      start();
    }

    void start() throws InterruptedException {
      manager = new ManagerProcess(runtime, DRAM, folder.resolve(name + "-store"), SSD,
          List.of("--block-bytes", "200KiB", "--http", "127.0.0.1:0"));
    }

    Path socket() {
      return runtime.resolve("manager.sock");
    }

    JsonNode status() throws InterruptedException {
      URI address = StatusClient.addressIn(runtime).resolve("/status.json");
      try {
        HttpRequest request = HttpRequest.newBuilder(address).timeout(LIMIT).build();
        return JSON.readTree(http.send(request, HttpResponse.BodyHandlers.ofString()).body());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    boolean isQuarantined(String instance) throws InterruptedException {
      return status().get("quarantine").valueStream().anyMatch(each -> each.get("instance").stringValue().equals(instance));
    }

    /** Returns whether an instance has nothing under way and nothing in quarantine. */
    boolean holdsNothing(String instance) throws InterruptedException {
      return !isQuarantined(instance) && status().get("instances").valueStream()
          .filter(each -> each.get("name").stringValue().equals(instance))
          .allMatch(each -> Stream.of("tickets", "leases", "saves", "restores", "leased_bytes")
              .allMatch(gauge -> each.get(gauge).longValue() == 0));
    }

    boolean isQuiet() throws InterruptedException {
      JsonNode status = status();
      return status.get("quarantine").isEmpty() && status.get("cache").get("leased_bytes").longValue() == 0
          && status.get("cache").get("quarantined_bytes").longValue() == 0;
    }

    @Override
    public void close() {
      manager.close();
    }
  }

  /** An agent, its engine, and what lies between them and their Manager. */
  private final class Bench implements AutoCloseable {

    static final int BLOCKS = 8;

    private final AgentState state;
    private final String name;
    private final Node node;
    private final Path socket;
    private final Path gate;
    private final Path plugins;
    private final Relay toAgent;
    private final Relay toManager;
    private final int seed = ++lastSeed;
    private AgentProcess agent;
    private FaultEngine engine;
    private int engines;
    private Relay.Hold hold;
    /** Whether the engine has not answered what it was told last. */
    private boolean late;
    /** The prompt that was saved last. */
    private int saved;

    Bench(AgentState state, Path plugins) throws IOException {
      this.state = state;
      this.name = state.name().toLowerCase(Locale.ROOT);
      this.node = state.isAlone() ? doomed : AgentFaultMatrixTest.this.node;
      this.plugins = plugins;
      Path agents = shared.resolve("agents");
      this.socket = agents.resolve(name + ".sock");
      this.gate = shared.resolve(name + ".gate");
      this.toAgent = new Relay(agents.resolve(name + ".relay"), socket);
      this.toManager = new Relay(node.runtime.resolve(name + ".relay"), node.socket());
    }

    void startAgent() throws InterruptedException {
      starting.acquire();
      try {
        agent = new AgentProcess(socket, toManager.socket(), List.of("--device", "held", "--device-setting",
            "gate=" + gate, "--plugins", plugins.toString()));
        agent.awaitReady();
      } finally {
        starting.release();
      }
    }

    void startEngine() throws Exception {
      late = false;
      engine = new FaultEngine(python, name, shared.resolve(name + "-pool-" + ++engines));
      open(socket);
    }

    private void open(Path path) throws InterruptedException {
      awaitTrue(state + ": a welcome", LIMIT, () -> engine.ask("open " + path).equals("opened"));
    }

    /** Takes it into its state. */
    void reach(boolean throughRelay) throws Exception {
      saved = ++lastSeed;
      Path path = throughRelay || state.needsRelay() ? toAgent.socket() : socket;
      boolean opens = state.compareTo(AgentState.OPEN) < 0;
      if (!opens) {
        open(path);
      }
      switch (state.kept) {
        case ENGINE_REQUEST -> hold = toAgent.holdRequest(state.tag);
        case MANAGER_REQUEST -> hold = toManager.holdRequest(state.tag);
        case MANAGER_REPLY -> hold = toManager.holdReply(state.tag);
        case COPIES -> Files.createFile(gate);
        case ITSELF -> hold = null;
      }
      switch (state) {
        case CONNECTED, GREETED, REGISTERING -> tell("open " + path);
        case OPEN, ALONE -> {
          // It is there.
        }
        case ASKED, ANSWERED -> tell("ask " + seed);
        case LEASED -> lease();
        case LOAD_ASKED, LOAD_GRANTED -> {
          lease();
          tell("load");
        }
        case LOADING, LOADING_ALONE, LOADED -> {
          lease();
          assertThat(engine.ask("load")).isEqualTo("begun");
        }
        case SAVE_ASKED, SAVE_GRANTED -> tell("save " + saved);
        case SAVING, SAVING_ALONE, SAVED, COMMITTED, ENDING ->
            assertThat(engine.ask("save " + saved)).isEqualTo("begun");
      }
      if (state == AgentState.LOADED) {
        awaitTrue("the load to arrive", LIMIT, () -> engine.ask("arrived").equals("READY"));
      } else if (state == AgentState.ENDING) {
        Relay.Hold close = toAgent.holdRequest(CLOSE);
        tell("close");
        assertThat(close.await(LIMIT)).isTrue();
        close.release();
      }
      if (hold != null) {
        assertThat(hold.await(LIMIT)).as(state + " was reached").isTrue();
      }
    }

    private void lease() throws InterruptedException {
      awaitTrue("a lease", LIMIT, () -> engine.ask("ask " + seed).equals("leased " + BLOCKS));
    }

    private void tell(String line) {
      engine.tell(line);
      late = true;
    }

    /** Waits for the answer to what the engine was told when it was kept there. */
    void hearLate() throws InterruptedException {
      if (late) {
        late = false;
        engine.answer();
      }
    }

    /** Nothing keeps it in its state any more. */
    void letGo() throws IOException {
      if (hold != null) {
        hold.release();
        hold = null;
      }
      Files.deleteIfExists(gate);
    }

    /** The Manager has nothing of it any more, unless it is dead. */
    void awaitNothingHeld(Duration limit) throws InterruptedException {
      if (!state.isAlone()) {
        awaitTrue(state + ": nothing held", limit, () -> node.holdsNothing(name));
      }
    }

    /** The engine is served by an agent, and what it stored comes back. */
    void goesOn() throws InterruptedException {
      hearLate();
      open(socket);
      assertThat(engine.ask("check " + seed)).as(state + ": stored blocks").isEqualTo("right " + BLOCKS);
      awaitTrue(state + ": nothing held", LIMIT, () -> node.holdsNothing(name));
    }

    void closeRelays() {
      toAgent.close();
      toManager.close();
    }

    @Override
    public void close() {
      closeRelays();
      if (agent != null) {
        agent.close();
      }
      if (engine != null) {
        engine.close();
      }
    }
  }

  private <T extends AutoCloseable> T opened(T resource) {
    open.add(resource);
    return resource;
  }

  private static String pythonWithPackages() throws IOException, InterruptedException {
    Process process = new ProcessBuilder("../.ci/python-env").redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String environment = new String(process.getInputStream().readAllBytes()).strip();
    assertThat(process.waitFor()).isZero();
    return environment + "/bin/python";
  }

  private static List<String> filesOf(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }

  /** A condition that waits for others. */
  @FunctionalInterface
  private interface Condition {
    boolean holds() throws InterruptedException;
  }

  private static void awaitTrue(String what, Duration limit, Condition condition) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (!condition.holds()) {
      assertThat(System.nanoTime() - end).as("waited " + limit.toMillis() + " ms for " + what).isNegative();
      Thread.sleep(10);
    }
  }
}
