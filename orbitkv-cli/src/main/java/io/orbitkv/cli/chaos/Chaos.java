package io.orbitkv.cli.chaos;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.core.client.ManagerClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * Serves engine stand-ins from a Manager, one of them through agents, all in processes of their own, and does to them at
 * random what happens to processes: one fault at a time, and after each it looks whether everything that must be true
 * again is.
 */
public final class Chaos {

  /** After a death, what it held is free again. */
  private static final Duration MEMORY_BACK_LIMIT = Duration.ofSeconds(1);

  /** After a Manager's return, engines use it again. */
  private static final Duration RECONNECT_LIMIT = Duration.ofSeconds(5);

  /** No request of an engine that runs takes longer, whatever happens to the others. */
  private static final Duration REQUEST_LIMIT = Duration.ofSeconds(5);

  private static final String AGENTS = "agents";

  private static final Duration END_LIMIT = Duration.ofSeconds(60);
  private static final Duration GIVE_UP = Duration.ofSeconds(20);

  private final Settings settings;
  private final SplittableRandom random;
  private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
  private final List<String> violations = new ArrayList<>();
  private final List<StandInProcess> engines = new ArrayList<>();
  /** Those of the last engine's ranks, if it has ranks. */
  private final List<RankAgent> agents = new ArrayList<>();
  private StandInReport ended = StandInReport.NOTHING;
  private StandInReport endedRanked = StandInReport.NOTHING;
  private ManagerProcess manager;
  private Duration longestMemoryBack = Duration.ZERO;
  private Duration longestReconnect = Duration.ZERO;
  private Duration longestAgentBack = Duration.ZERO;
  private long started;
  private long agentsStarted;

  /**
   * What is done.
   *
   * @param limit how long
   * @param seed decides what happens; the processes' own speed decides the rest
   * @param engines stand-ins at once that copy themselves
   * @param ranks ranks of one more that copies through agents, one each; zero for none
   * @param blockBytes bytes of a block
   * @param dram the Manager's memory
   * @param ssdBytes its store
   */
  public record Settings(Duration limit, long seed, int engines, int ranks, int blockBytes, ByteSize dram, ByteSize ssdBytes) {}

  /**
   * What came of it.
   *
   * @param faults how many of each, by name
   * @param engines everything that all stand-ins did
   * @param ranked what of it went through agents
   * @param processes stand-ins that were started
   * @param agents agents that were started
   * @param longestMemoryBack from the death of a process to the freedom of the last byte that it was granted
   * @param longestReconnect from a Manager's return to the last engine that used it again
   * @param longestAgentBack from an agent's return to the first use that its engine made of it
   * @param atEnd the Manager's own counters before it was told to end
   * @param violations what was not as it must be; empty if all was well
   */
  public record Result(Map<String, Integer> faults, StandInReport engines, StandInReport ranked, long processes,
      long agents, Duration longestMemoryBack, Duration longestReconnect, Duration longestAgentBack, CacheStats atEnd,
      List<String> violations) {}

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
      Path folder = runtime.resolve(AGENTS);
      makePrivate(folder);
      for (int rank = 0; rank < settings.ranks(); rank++) {
        agents.add(new RankAgent("rank" + rank, folder, socket));
        start(agents.getLast());
      }
      for (int i = 0; i < settings.engines() + (settings.ranks() > 0 ? 1 : 0); i++) {
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
      agents.forEach(RankAgent::close);
      if (manager != null) {
        manager.close();
      }
    }
  }

  private ManagerProcess startManager(Path runtime, Path ssd) throws InterruptedException {
    return new ManagerProcess(runtime, settings.dram(), ssd, settings.ssdBytes(),
        List.of("--block-bytes", settings.blockBytes() + "B"));
  }

  private void start(RankAgent agent) throws InterruptedException {
    agent.start();
    agentsStarted++;
  }

  private boolean isRanked(int index) {
    return index == settings.engines();
  }

  private StandInProcess startEngine(Path socket, int index) {
    List<String> options = new ArrayList<>();
    if (isRanked(index)) {
      agents.forEach(agent -> options.addAll(List.of("--agent", agent.socket().toString())));
      options.addAll(List.of("--pools", socket.resolveSibling(AGENTS).toString()));
    }
    return new StandInProcess(
        "engine-" + index, socket, settings.blockBytes(), settings.seed() + 1_000 * ++started, options);
  }

  /** Counts what an engine that has ended did, and removes what it left of its pages if it was killed. */
  private void settle(int index, Path runtime) {
    StandInReport report = engines.get(index).report();
    ended = ended.plus(report);
    if (isRanked(index)) {
      endedRanked = endedRanked.plus(report);
      filesOf(runtime.resolve(AGENTS)).stream().filter(name -> name.endsWith(".pool"))
          .forEach(name -> remove(runtime.resolve(AGENTS).resolve(name)));
    }
    engines.get(index).close();
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
        settle(index, runtime);
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
      case AGENT_KILLED -> {
        RankAgent agent = chooseAgent();
        agent.kill();
        long death = System.nanoTime();
        await("the memory of agent " + agent.name(), GIVE_UP, () -> quarantined(socket) == 0);
        longestMemoryBack = longest(longestMemoryBack, "memory of agent " + agent.name() + " back", death, MEMORY_BACK_LIMIT);
        awaitProgress("engines without agent " + agent.name(), engines);
        start(agent);
        longestAgentBack = longest(longestAgentBack, "use of the agent after " + agent.name(),
            awaitServed("an engine to use its new agent", engines.subList(settings.engines(), engines.size())),
            RECONNECT_LIMIT);
      }
      case AGENT_STOPPED -> {
        RankAgent agent = chooseAgent();
        agent.signal("STOP");
        awaitProgress("engines while agent " + agent.name() + " is stopped", engines);
        Thread.sleep(random.nextInt(100, 3_000));
        checkRequests("while agent " + agent.name() + " was stopped", engines);
        agent.signal("CONT");
        awaitProgress("engines after agent " + agent.name() + " was stopped", engines);
        await("what agent " + agent.name() + " held when it was stopped", GIVE_UP, () -> quarantined(socket) == 0);
      }
      case AGENT_CUT_OFF -> {
        RankAgent agent = chooseAgent();
        if (random.nextBoolean()) {
          agent.cutFromEngine();
        } else {
          agent.cutFromManager();
        }
        awaitProgress("engines after agent " + agent.name() + " was cut off", engines);
        await("what agent " + agent.name() + " held when it was cut off", GIVE_UP, () -> quarantined(socket) == 0);
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
    for (RankAgent agent : agents) {
      check(agent.isAlive(), "agent " + agent.name() + " ended by itself after " + fault);
    }
    check(manager.isAlive(), "the Manager ended by itself after " + fault);
  }

  private void replaceManager(Path runtime, Path ssd) throws InterruptedException {
    manager = startManager(runtime, ssd);
    longestReconnect = longest(longestReconnect, "engines back at the Manager",
        awaitServed("engines to use the new Manager", engines), RECONNECT_LIMIT);
  }

  /** Waits until engines restore or save something, and returns when the wait began. */
  private long awaitServed(String what, List<StandInProcess> of) throws InterruptedException {
    long start = System.nanoTime();
    awaitGrowth(what, of, StandInReport::blocksServed);
    return start;
  }

  private Result finish(Path runtime, Path socket) throws InterruptedException {
    for (int i = 0; i < engines.size(); i++) {
      check(engines.get(i).end(END_LIMIT) == 0, engines.get(i).name() + " did not end in order");
      settle(i, runtime);
    }
    engines.clear();
    for (RankAgent agent : agents) {
      check(agent.end(END_LIMIT) == 0, "agent " + agent.name() + " did not end in order");
      agent.close();
    }
    agents.clear();
    await("all gauges to be zero", GIVE_UP, () -> {
      CacheStats stats = stats(socket);
      return stats.leasedBytes() == 0 && stats.quarantinedBytes() == 0;
    });
    CacheStats atEnd = stats(socket);
    check(atEnd.blocksHitDram() + atEnd.blocksHitSsd() + atEnd.blocksMissed() == atEnd.blocksQueried(),
        "hits and misses do not add up: " + atEnd);
    check(manager.end(END_LIMIT) == 0, "the Manager did not end in order");
    check(ended.blocksHit() > endedRanked.blocksHit(), "nothing was ever restored by the engines themselves");
    check(settings.ranks() == 0 || endedRanked.blocksHit() > 0, "nothing was ever restored through agents");
    for (String left : filesOf(runtime)) {
      // A lock stays: were it removed, two owners could lock two files.
      check(left.equals("arena.lock") || left.equals(AGENTS), "'" + left + "' was left in the runtime folder");
    }
    for (String left : filesOf(runtime.resolve(AGENTS))) {
      check(left.endsWith(".sock.lock"), "'" + left + "' was left in the agents' folder");
    }
    Map<String, Integer> byName = new LinkedHashMap<>();
    faults.forEach((fault, count) -> byName.put(fault.name().toLowerCase(Locale.ROOT), count));
    return new Result(byName, ended, endedRanked, started, agentsStarted, longestMemoryBack, longestReconnect,
        longestAgentBack, atEnd, violations);
  }

  private static void makePrivate(Path folder) {
    try {
      Files.createDirectory(
          folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    } catch (IOException e) {
      throw new UnavailableException("'" + folder + "' cannot be made: " + e.getMessage(), e);
    }
  }

  private static void remove(Path file) {
    try {
      Files.delete(file);
    } catch (IOException e) {
      throw new UnavailableException("'" + file + "' cannot be removed: " + e.getMessage(), e);
    }
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
        return fault.isOfAgent() && agents.isEmpty() ? choose() : fault;
      }
    }
    return Fault.ENGINE_KILLED;
  }

  private RankAgent chooseAgent() {
    return agents.get(random.nextInt(agents.size()));
  }

  private void awaitProgress(String what, List<StandInProcess> of) throws InterruptedException {
    awaitGrowth(what, of, StandInReport::requests);
  }

  private void awaitGrowth(String what, List<StandInProcess> of, ToLongFunction<StandInReport> figure)
      throws InterruptedException {
    List<Long> before = of.stream().map(engine -> figure.applyAsLong(engine.report())).toList();
    await(what, GIVE_UP, () -> {
      for (int i = 0; i < of.size(); i++) {
        if (figure.applyAsLong(of.get(i).report()) <= before.get(i)) {
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
