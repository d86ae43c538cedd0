package io.orbitkv.cli.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.CacheStats;
import io.orbitkv.cli.process.ChildCommand;
import io.orbitkv.core.client.ManagerClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every fault in every state: a stand-in is held at each step of a request, and then it or its Manager is killed, stopped
 * for 30 s or cut off, while another engine works on. What was seen is the table of {@code docs/faults.md}: the last test
 * writes it to {@code target/faults.md} and compares.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class FaultMatrixTest {

  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final Duration STOP = Duration.ofSeconds(30);
  private static final Duration MEMORY_BACK = Duration.ofSeconds(1);
  private static final Duration REQUEST = Duration.ofSeconds(5);
  private static final Duration RECONNECT = Duration.ofSeconds(5);
  private static final int BLOCK_BYTES = 64 << 10;
  private static final ByteSize DRAM = ByteSize.parse("96MiB");
  private static final ByteSize SSD = ByteSize.parse("512MiB");

  /** What holds where no grant is held, and what holds where one is. */
  private static final List<StandInStep> HOLDING_GRANTS = List.of(StandInStep.RESTORE_GRANTED, StandInStep.HALF_RESTORED,
      StandInStep.RESTORE_ENQUEUED, StandInStep.SAVE_GRANTED, StandInStep.HALF_SAVED, StandInStep.COPIED);

  private final List<String> rows = new ArrayList<>();
  private final List<AutoCloseable> open = new ArrayList<>();
  private Path runtime;
  private Path socket;
  private Path ssd;
  private ManagerProcess manager;
  private StandInProcess worker;

  @BeforeEach
  void startManagerAndAnEngineThatWorks(@TempDir Path folder) throws Exception {
    runtime = Files.createTempDirectory(Path.of("/dev/shm"), "orbitkv-faults-");
    socket = runtime.resolve("manager.sock");
    ssd = folder.resolve("store");
    manager = startManager();
    worker = opened(new StandInProcess("worker", socket, BLOCK_BYTES, 1, List.of()));
    // Enough that every prompt of the held ones has something stored before it.
    await("something to restore", LIMIT, () -> worker.report().requests() > 400);
  }

  @AfterEach
  void end() throws Exception {
    assertThat(worker.report().mismatches()).isZero();
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
    open.clear();
    manager.close();
    try (Stream<Path> files = Files.walk(runtime)) {
      for (Path file : files.sorted((a, b) -> b.compareTo(a)).toList()) {
        Files.delete(file);
      }
    }
  }

  @Test
  @Order(1)
  void engineKilled() throws Exception {
    for (Map.Entry<StandInStep, Held> each : hold().entrySet()) {
      CacheStats before = stats();
      each.getValue().child.kill();
      long death = System.nanoTime();
      await("the memory of the dead", LIMIT, () -> stats().quarantinedBytes() == 0);
      assertThat(Duration.ofNanos(System.nanoTime() - death)).isLessThan(MEMORY_BACK);
      assertThat(before.quarantinedBytes()).isZero();
      workerGoesOn();
      row("engine", "kill -9", each.getKey(), HOLDING_GRANTS.contains(each.getKey())
          ? "quarantined, proven dead, memory free within 1 s; others go on"
          : "nothing was granted; others go on");
    }
    drained();
  }

  @Test
  @Order(2)
  void engineStopped() throws Exception {
    Map<StandInStep, Held> held = hold();
    held.values().forEach(each -> each.child.signal("STOP"));
    long end = System.nanoTime() + STOP.toNanos();
    worker.takeLongestMillis();
    while (System.nanoTime() < end) {
      workerGoesOn();
      Thread.sleep(500);
    }
    assertThat(worker.takeLongestMillis()).isLessThan(REQUEST.toMillis());
    assertThat(stats().quarantinedBytes()).isZero();
    for (Map.Entry<StandInStep, Held> each : held.entrySet()) {
      each.getValue().child.signal("CONT");
      endsWell(each.getValue());
      row("engine", "SIGSTOP 30 s", each.getKey(), "keeps what it was granted; others go on; it ends in order");
    }
    drained();
  }

  @Test
  @Order(3)
  void connectionCut() throws Exception {
    for (Map.Entry<StandInStep, Held> each : hold().entrySet()) {
      each.getValue().relay.cut();
      if (HOLDING_GRANTS.contains(each.getKey())) {
        await("the grants of the cut one to be quarantined", LIMIT, () -> stats().quarantinedBytes() > 0);
      }
      workerGoesOn();
      endsWell(each.getValue());
      await("what it held to be given back", LIMIT, () -> stats().quarantinedBytes() == 0);
      row("engine", "socket cut", each.getKey(), HOLDING_GRANTS.contains(each.getKey())
          ? "quarantined while it lives; free when it says that its copies have ended"
          : "nothing was granted; it ends in order");
    }
    drained();
  }

  @Test
  @Order(4)
  void managerKilled() throws Exception {
    Map<StandInStep, Held> held = hold();
    manager.kill();
    workerGoesOn();
    manager = startManager();
    long ready = System.nanoTime();
    long served = worker.report().blocksServed();
    await("the worker to use the new Manager", LIMIT, () -> worker.report().blocksServed() > served);
    assertThat(Duration.ofNanos(System.nanoTime() - ready)).isLessThan(RECONNECT);
    assertThat(stats().blocksSsd()).isPositive();
    for (Map.Entry<StandInStep, Held> each : held.entrySet()) {
      endsWell(each.getValue());
      row("Manager", "kill -9", each.getKey(), "the engine computes, goes on, and uses the next Manager within 5 s");
    }
    drained();
  }

  @Test
  @Order(5)
  void managerStopped() throws Exception {
    Map<StandInStep, Held> held = hold();
    manager.signal("STOP");
    long end = System.nanoTime() + STOP.toNanos();
    worker.takeLongestMillis();
    for (Held each : held.values()) {
      // Told to end while nobody answers: it must not wait for the Manager.
      endsWell(each);
    }
    while (System.nanoTime() < end) {
      workerGoesOn();
      Thread.sleep(500);
    }
    assertThat(worker.takeLongestMillis()).isLessThan(REQUEST.toMillis());
    manager.signal("CONT");
    long served = worker.report().blocksServed();
    await("the worker to use the Manager again", LIMIT, () -> worker.report().blocksServed() > served);
    held.keySet().forEach(step ->
        row("Manager", "SIGSTOP 30 s", step, "requests end by their deadlines; the engine computes and ends in order"));
    drained();
  }

  @AfterAll
  void theTableInTheDocumentationIsWhatWasSeen() throws IOException {
    String table = "| process | fault | in state | seen |\n|---|---|---|---|\n" + String.join("\n", rows) + "\n";
    Files.writeString(Path.of("target", "faults.md"), table);
    assertThat(Files.readString(Path.of("..", "docs", "faults.md")))
        .as("docs/faults.md: take over orbitkv-cli/target/faults.md").contains(table);
  }

  // ---- what is held

  /** A stand-in that stays at a step. */
  private record Held(ChildCommand child, Relay relay, Tail tail) {}

  /** What a held stand-in said last. */
  private static final class Tail {
    private volatile boolean holding;
    private volatile StandInReport report = StandInReport.NOTHING;

    void line(String line) {
      if (StandInReport.isReport(line)) {
        report = StandInReport.parse(line);
      } else if (line.startsWith("holding")) {
        holding = true;
      }
    }
  }

  private Map<StandInStep, Held> hold() throws InterruptedException {
    Map<StandInStep, Held> held = new LinkedHashMap<>();
    for (StandInStep step : StandInStep.values()) {
      Relay relay = opened(new Relay(runtime.resolve(step + ".relay"), socket));
      Tail tail = new Tail();
      ChildCommand child = opened(ChildCommand.start(step.name(),
          List.of("-XX:+UseSerialGC", "-Xmx128m", "-XX:TieredStopAtLevel=1"),
          List.of("stand-in", "--manager", relay.socket().toString(), "--instance", step.name(), "--block-bytes",
              BLOCK_BYTES + "B", "--seed", Integer.toString(100 + step.ordinal()), "--hold", step.name()), tail::line));
      held.put(step, new Held(child, relay, tail));
    }
    for (Map.Entry<StandInStep, Held> each : held.entrySet()) {
      await("a stand-in to be at " + each.getKey(), LIMIT.multipliedBy(2), () -> each.getValue().tail.holding);
    }
    return held;
  }

  private static void endsWell(Held held) throws InterruptedException {
    assertThat(held.child.end(LIMIT)).as("exit code of " + held.child).isZero();
    assertThat(held.tail.report.mismatches()).isZero();
  }

  private void drained() throws InterruptedException {
    assertThat(worker.end(LIMIT)).isZero();
    await("all gauges to be zero", LIMIT, () -> stats().leasedBytes() == 0 && stats().quarantinedBytes() == 0);
    assertThat(manager.end(LIMIT)).isZero();
    // The next one finds nothing of this one's but the lock.
    manager = startManager();
    try (Stream<Path> files = Files.list(runtime)) {
      assertThat(files.map(file -> file.getFileName().toString()).filter(name -> name.startsWith("witness"))).isEmpty();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private void workerGoesOn() throws InterruptedException {
    long requests = worker.report().requests();
    await("the working engine to go on", LIMIT, () -> worker.report().requests() > requests);
  }

  private ManagerProcess startManager() throws InterruptedException {
    return new ManagerProcess(runtime, DRAM, ssd, SSD, List.of("--block-bytes", BLOCK_BYTES + "B"));
  }

  private CacheStats stats() {
    try (ManagerClient client = ManagerClient.open(socket)) {
      return client.stats();
    }
  }

  private void row(String process, String fault, StandInStep step, String seen) {
    rows.add("| " + process + " | " + fault + " | " + step + " | " + seen + " |");
  }

  private <T extends AutoCloseable> T opened(T resource) {
    open.add(resource);
    return resource;
  }

  private static void await(String what, Duration limit, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - end).as("waited " + limit.toSeconds() + " s for " + what).isNegative();
      Thread.sleep(10);
    }
  }
}
