package io.orbitkv.cli.chaos;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.core.client.ManagerClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * Serves engine stand-ins from a Manager, both in processes of their own, and does to them at random what happens to
 * processes: one fault at a time, and after each it looks whether everything that must be true again is.
 */
public final class Chaos {

  /** After a death, what it held is free again. */
  private static final Duration MEMORY_BACK_LIMIT = Duration.ofSeconds(1);

  /** After a Manager's return, engines use it again. */
  private static final Duration RECONNECT_LIMIT = Duration.ofSeconds(5);

  /** No request of an engine that runs takes longer, whatever happens to the others. */
  private static final Duration REQUEST_LIMIT = Duration.ofSeconds(5);

  private static final Duration END_LIMIT = Duration.ofSeconds(60);
  private static final Duration GIVE_UP = Duration.ofSeconds(20);

  private final Settings settings;
  private final SplittableRandom random;
  private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
  private final List<String> violations = new ArrayList<>();
  private final List<StandInProcess> engines = new ArrayList<>();
  private StandInReport ended = StandInReport.NOTHING;
  private ManagerProcess manager;
  private Duration longestMemoryBack = Duration.ZERO;
  private Duration longestReconnect = Duration.ZERO;
  private long started;

  /**
   * What is done.
   *
   * @param limit how long
   * @param seed decides what happens; the processes' own speed decides the rest
   * @param engines stand-ins at once
   * @param blockBytes bytes of a block
   * @param dram the Manager's memory
   * @param ssdBytes its store
   */
  public record Settings(Duration limit, long seed, int engines, int blockBytes, ByteSize dram, ByteSize ssdBytes) {}

  /**
   * What came of it.
   *
   * @param faults how many of each, by name
   * @param engines everything that all stand-ins did
   * @param processes stand-ins that were started
   * @param longestMemoryBack from the death of a process to the freedom of the last byte that it was granted
   * @param longestReconnect from a Manager's return to the last engine that used it again
   * @param atEnd the Manager's own counters before it was told to end
   * @param violations what was not as it must be; empty if all was well
   */
  public record Result(Map<String, Integer> faults, StandInReport engines, long processes, Duration longestMemoryBack,
      Duration longestReconnect, CacheStats atEnd, List<String> violations) {}

  /** Makes a run. */
  public Chaos(Settings settings) {
    this.settings = settings;
    this.random = new SplittableRandom(settings.seed());
  }

  /**
   * Runs.
   *
   * @param runtime an empty private folder on tmpfs
   * @param ssd where the store is made
   * @param progress told of seconds
   */
  public Result run(Path runtime, Path ssd, Progress progress) throws InterruptedException {
    long start = System.nanoTime();
    long end = start + settings.limit().toNanos();
    Path socket = runtime.resolve("manager.sock");
    try {
      manager = startManager(runtime, ssd);
      for (int i = 0; i < settings.engines(); i++) {
        engines.add(startEngine(socket, i));
      }
      await("all engines to begin", GIVE_UP, () -> engines.stream().allMatch(engine -> engine.report().requests() > 0));
      while (System.nanoTime() < end) {
        Thread.sleep(random.nextInt(200, 1_500));
        disturb(runtime, ssd, socket);
        progress.advanceTo((System.nanoTime() - start) / 1_000_000_000);
      }
      return finish(runtime, socket);
    } finally {
      engines.forEach(StandInProcess::close);
      if (manager != null) {
        manager.close();
      }
    }
  }

  private ManagerProcess startManager(Path runtime, Path ssd) throws InterruptedException {
    return new ManagerProcess(runtime, settings.dram(), ssd, settings.ssdBytes(),
        List.of("--block-bytes", settings.blockBytes() + "B"));
  }

  private StandInProcess startEngine(Path socket, int index) {
    return new StandInProcess("engine-" + index, socket, settings.blockBytes(), settings.seed() + 1_000 * ++started);
  }

  private void disturb(Path runtime, Path ssd, Path socket) throws InterruptedException {
    Fault fault = choose();
    faults.merge(fault, 1, Integer::sum);
    int index = random.nextInt(engines.size());
    StandInProcess engine = engines.get(index);
    engines.forEach(StandInProcess::takeLongestMillis);
    switch (fault) {
      case ENGINE_KILLED -> {
        engine.kill();
        long death = System.nanoTime();
        await("the memory of " + engine.name(), GIVE_UP, () -> quarantined(socket) == 0);
        longestMemoryBack = longest(longestMemoryBack, "memory of " + engine.name() + " back", death, MEMORY_BACK_LIMIT);
        ended = ended.plus(engine.report());
        engine.close();
        engines.set(index, startEngine(socket, index));
        awaitProgress("the engine after " + engine.name(), List.of(engines.get(index)));
      }
      case ENGINE_STOPPED -> {
        engine.signal("STOP");
        List<StandInProcess> others = engines.stream().filter(other -> other != engine).toList();
        awaitProgress("the others while " + engine.name() + " is stopped", others);
        Thread.sleep(random.nextInt(100, 3_000));
        checkRequests("while " + engine.name() + " was stopped", others);
        engine.signal("CONT");
        awaitProgress(engine.name() + " to go on", List.of(engine));
        // Its own longest request is as long as it was stopped.
        engine.takeLongestMillis();
      }
      case CONNECTION_CUT -> {
        engine.cut();
        awaitProgress(engine.name() + " after a cut", List.of(engine));
        await("what " + engine.name() + " held when it was cut", GIVE_UP, () -> quarantined(socket) == 0);
      }
      case MANAGER_KILLED -> {
        manager.kill();
        awaitProgress("engines without a Manager", engines);
        replaceManager(runtime, ssd);
      }
      case MANAGER_STOPPED -> {
        manager.signal("STOP");
        Thread.sleep(random.nextInt(100, 1_500));
        manager.signal("CONT");
        awaitProgress("engines after the Manager was stopped", engines);
      }
      case MANAGER_RESTARTED -> {
        check(manager.end(END_LIMIT) == 0, "the Manager did not end in order");
        awaitProgress("engines without a Manager", engines);
        replaceManager(runtime, ssd);
      }
    }
    checkRequests("after " + fault, engines);
    for (StandInProcess each : engines) {
      check(each.isAlive(), each.name() + " ended by itself after " + fault);
      check(each.report().mismatches() == 0, each.name() + " restored a wrong byte after " + fault);
    }
    check(manager.isAlive(), "the Manager ended by itself after " + fault);
  }

  private void replaceManager(Path runtime, Path ssd) throws InterruptedException {
    manager = startManager(runtime, ssd);
    long ready = System.nanoTime();
    List<Long> before = engines.stream().map(engine -> engine.report().blocksServed()).toList();
    await("engines to use the new Manager", GIVE_UP, () -> {
      for (int i = 0; i < engines.size(); i++) {
        if (engines.get(i).report().blocksServed() <= before.get(i)) {
          return false;
        }
      }
      return true;
    });
    longestReconnect = longest(longestReconnect, "engines back at the Manager", ready, RECONNECT_LIMIT);
  }

  private Result finish(Path runtime, Path socket) throws InterruptedException {
    for (StandInProcess engine : engines) {
      check(engine.end(END_LIMIT) == 0, engine.name() + " did not end in order");
      ended = ended.plus(engine.report());
      engine.close();
    }
    engines.clear();
    await("all gauges to be zero", GIVE_UP, () -> {
      CacheStats stats = stats(socket);
      return stats.leasedBytes() == 0 && stats.quarantinedBytes() == 0;
    });
    CacheStats atEnd = stats(socket);
    check(atEnd.blocksHitDram() + atEnd.blocksHitSsd() + atEnd.blocksMissed() == atEnd.blocksQueried(),
        "hits and misses do not add up: " + atEnd);
    check(manager.end(END_LIMIT) == 0, "the Manager did not end in order");
    check(ended.blocksHit() > 0, "nothing was ever restored");
    for (String left : filesOf(runtime)) {
      // The lock stays: were it removed, two owners could lock two files.
      check(left.equals("arena.lock"), "'" + left + "' was left in the runtime folder");
    }
    Map<String, Integer> byName = new LinkedHashMap<>();
    faults.forEach((fault, count) -> byName.put(fault.name().toLowerCase(Locale.ROOT), count));
    return new Result(byName, ended, started, longestMemoryBack, longestReconnect, atEnd, violations);
  }

  private static List<String> filesOf(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).toList();
    } catch (IOException e) {
      throw new UnavailableException("'" + folder + "' cannot be read: " + e.getMessage(), e);
    }
  }

  private Fault choose() {
    int draw = random.nextInt(100);
    for (Fault fault : Fault.values()) {
      draw -= fault.share;
      if (draw < 0) {
        return fault;
      }
    }
    return Fault.ENGINE_KILLED;
  }

  private void awaitProgress(String what, List<StandInProcess> of) throws InterruptedException {
    List<Long> before = of.stream().map(engine -> engine.report().requests()).toList();
    await(what, GIVE_UP, () -> {
      for (int i = 0; i < of.size(); i++) {
        if (of.get(i).report().requests() <= before.get(i)) {
          return false;
        }
      }
      return true;
    });
  }

  private void checkRequests(String when, List<StandInProcess> of) {
    for (StandInProcess engine : of) {
      long longest = engine.takeLongestMillis();
      check(longest <= REQUEST_LIMIT.toMillis(), "a request of " + engine.name() + " took " + longest + " ms " + when);
    }
  }

  private Duration longest(Duration sofar, String what, long since, Duration limit) {
    Duration took = Duration.ofNanos(System.nanoTime() - since);
    check(took.compareTo(limit) <= 0, what + " after " + took.toMillis() + " ms, expected at most " + limit.toMillis());
    return took.compareTo(sofar) > 0 ? took : sofar;
  }

  private void await(String what, Duration limit, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        check(false, "waited " + limit.toSeconds() + " s for " + what);
        return;
      }
      Thread.sleep(10);
    }
  }

  private void check(boolean holds, String violation) {
    if (!holds) {
      violations.add(violation);
    }
  }

  private static long quarantined(Path socket) {
    return stats(socket).quarantinedBytes();
  }

  private static CacheStats stats(Path socket) {
    try (ManagerClient client = ManagerClient.open(socket)) {
      return client.stats();
    }
  }
}
