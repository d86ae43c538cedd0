package io.orbitkv.adapter.vllm.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Standing;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * An engine with its workers, as vLLM's scheduler orders things, driven by choices. It knows what is in each page and
 * since which reset, and checks every order that it is given.
 */
final class SimulatedEngine {

  private static final int BLOCK_TOKENS = Scheduler.BLOCK_TOKENS;

  /** How many pages saves may hold. */
  private static final int SAVED_PAGES = 9;

  private enum Status {
    WAITING,
    REMOTE,
    /** Another connector brings its pages: the transport between prefill and decode. */
    TRANSFERRED,
    RUNNING
  }

  private static final class Simulated {
    final String id;
    final int seed;
    final int blocks;
    Status status = Status.WAITING;
    int known;
    int computedTokens;
    int external;
    int[] pages = new int[0];
    int pagesSent;
    /** The generation of the oldest thing that its pages follow from. */
    int since;
    boolean mayLoad = true;
    /** One past the last block of the last save since it got its pages. */
    int savedTo;
    /** Of the last hit. */
    int held;

    Simulated(String id, int seed, int blocks) {
      this.id = id;
      this.seed = seed;
      this.blocks = blocks;
    }

    int totalTokens() {
      return blocks * BLOCK_TOKENS + 1;
    }
  }

  private final Scheduler scheduler;
  private final Map<String, Simulated> requests = new LinkedHashMap<>();
  /** Loads that workers have, by request; also of requests that are gone. */
  private final Map<String, SchedulerReply.Load> loads = new LinkedHashMap<>();
  private final Map<Long, SchedulerReply.Save> saves = new LinkedHashMap<>();
  private final Map<Long, List<Digest>> chainsOfAgent = new HashMap<>();
  private final Set<Long> endedSeries = new HashSet<>();
  private final Set<Long> storedSaves = new HashSet<>();
  private final Map<Integer, Digest> masks = new HashMap<>();
  private Scheduler.Step next;
  private int created;
  private int nextPage;
  private int generation;
  /** How transfers of another connector ended: whole, in part, not at all. */
  final int[] transfers = new int[3];

  SimulatedEngine(Scheduler scheduler) {
    this.scheduler = scheduler;
    this.next = scheduler.new Step();
  }

  /** One thing happens. */
  void act(int choice) {
    int detail = choice / 16;
    switch (choice % 16) {
      case 0, 1 -> create(detail);
      case 2, 3, 4, 5, 6 -> schedule(detail);
      case 7 -> pick(detail, Status.RUNNING).ifPresent(request -> preempt(request, detail % 2 == 0));
      case 8 -> pick(detail).ifPresent(this::finish);
      case 9 -> endLoad(detail);
      case 10 -> {
        if (detail % 2 == 0) {
          endLoad(detail / 2);
        } else {
          endTransfer(detail / 2);
        }
      }
      case 11, 12 -> endSave(detail);
      case 13 -> reset();
      case 14 -> scheduler.now.addAndGet(detail * 100L);
      default -> changeCache(detail);
    }
  }

  private void create(int detail) {
    if (requests.size() < 4) {
      Simulated request = new Simulated("r" + created++, detail % 3, 1 + detail % 7);
      requests.put(request.id, request);
    }
  }

  private Optional<Simulated> pick(int detail) {
    return requests.values().stream().skip(requests.isEmpty() ? 0 : detail % requests.size()).findFirst();
  }

  private Optional<Simulated> pick(int detail, Status status) {
    List<Simulated> those = requests.values().stream().filter(request -> request.status == status).toList();
    return those.isEmpty() ? Optional.empty() : Optional.of(those.get(detail % those.size()));
  }

  private void changeCache(int detail) {
    scheduler.cache.inMemory = detail % 4;
    scheduler.cache.onSsd = detail / 4 % 3;
    scheduler.cache.isRead = detail / 12 % 2 == 0;
    scheduler.cache.hangs = detail / 24 % 8 == 0;
  }

  // ---- a step

  private void schedule(int detail) {
    Map<String, SchedulerRequest.Allocated> loading = new HashMap<>();
    int turn = detail;
    for (Simulated request : requests.values()) {
      turn = turn * 31 + 7;
      switch (request.status) {
        case RUNNING -> compute(request, 1 + Math.floorMod(turn, 9));
        case WAITING -> {
          if (Math.floorMod(turn, 4) != 0) {
            admit(request, turn, loading);
          }
        }
        case REMOTE, TRANSFERRED -> { }
      }
    }
    flush(loading);
  }

  private void admit(Simulated request, int turn, Map<String, SchedulerRequest.Allocated> loading) {
    if (request.computedTokens > 0) {
      // It was loaded: its pages are full of that, and it goes on.
      next.allocate(request.id, 0, request.pages);
      request.pagesSent = request.pages.length;
      request.status = Status.RUNNING;
      return;
    }
    int own = Math.floorMod(turn / 4, 3) == 0 ? Math.min(1, request.blocks) : 0;
    PrefixChain more = Scheduler.part(request.seed, request.known, request.blocks);
    int holds = scheduler.cache.holds.size();
    SchedulerReply.Matched matched =
        scheduler.lookup(request.id, own, request.totalTokens(), request.known, more);
    if (scheduler.cache.holds.size() > holds) {
      request.held = scheduler.cache.holds.getLast().blocks();
    }
    request.known = request.blocks;
    if (matched.standing() != Standing.HIT) {
      assertThat(matched.tokens()).isZero();
    } else {
      assertThat(request.mayLoad).as("a request that failed to load is offered a load").isTrue();
      assertThat(matched.tokens()).isPositive().isLessThanOrEqualTo(request.totalTokens() - own * BLOCK_TOKENS);
      assertThat(matched.tokens() % BLOCK_TOKENS).isZero();
    }
    if (matched.standing() == Standing.DEFER || Math.floorMod(turn / 16, 4) == 0) {
      // Deferred, or no pages for it.
      return;
    }
    request.pages = IntStream.range(nextPage, nextPage + request.blocks + 1).toArray();
    nextPage += request.pages.length;
    request.pagesSent = request.pages.length;
    if (Math.floorMod(turn / 64, 4) == 0) {
      // Another connector was asked first, and has all of it. This one hears of pages, and of nothing to load.
      request.external = 0;
      request.since = generation;
      request.savedTo = 0;
      request.status = Status.TRANSFERRED;
      next.allocate(request.id, 0, request.pages);
      return;
    }
    request.external = matched.tokens();
    request.computedTokens = own * BLOCK_TOKENS + matched.tokens();
    request.since = generation;
    request.savedTo = 0;
    next.allocate(request.id, request.external, request.pages);
    if (request.external > 0) {
      request.status = Status.REMOTE;
      loading.put(request.id, next.allocated.getLast());
    } else {
      request.status = Status.RUNNING;
    }
  }

  private void compute(Simulated request, int tokens) {
    request.computedTokens = Math.min(request.totalTokens(), request.computedTokens + tokens);
    next.advance(request.id, request.computedTokens, request.known,
        Scheduler.part(request.seed, request.known, request.blocks), request.pagesSent);
    request.known = request.blocks;
  }

  /** Sends what has gathered, and takes the orders. */
  private void flush(Map<String, SchedulerRequest.Allocated> loading) {
    int room = SAVED_PAGES - heldForSaves();
    SchedulerReply.Plan plan = next.room(room).plan();
    next = scheduler.new Step();
    assertThat(plan.saves().stream().mapToInt(save -> save.pages().length).sum()).isLessThanOrEqualTo(room);
    assertThat(plan.loads()).extracting(SchedulerReply.Load::request)
        .containsExactlyInAnyOrderElementsOf(loading.keySet());
    plan.loads().forEach(load -> take(load, requests.get(load.request())));
    plan.saves().forEach(save -> take(save, requests.get(save.request())));
    for (long series : plan.endedSeries()) {
      assertThat(endedSeries.add(series)).as("a series ends once").isTrue();
      assertThat(chainsOfAgent.remove(series)).as("a series that was begun").isNotNull();
      assertThat(saves.values()).noneMatch(save -> save.series() == series);
    }
    for (long save : plan.stored()) {
      assertThat(storedSaves.remove(save)).as("told as stored, once, when all ranks have it").isTrue();
    }
  }

  private void take(SchedulerReply.Load load, Simulated request) {
    int first = (request.computedTokens - request.external) / BLOCK_TOKENS;
    assertThat(load.firstBlock()).isEqualTo(first);
    assertThat(load.pages()).containsExactly(
        Arrays.copyOfRange(request.pages, first, request.computedTokens / BLOCK_TOKENS));
    assertThat(loads.put(load.request(), load)).as("one load at a time").isNull();
    assertThat(scheduler.cache.holds.get((int) load.lease() - 1).released).as("a lease that is to be read").isFalse();
  }

  private int heldForSaves() {
    return saves.values().stream().mapToInt(save -> save.pages().length).sum();
  }

  private void take(SchedulerReply.Save save, Simulated request) {
    assertThat(endedSeries).doesNotContain(save.series());
    int end = save.firstBlock() + save.pages().length;
    assertThat(save.pages().length).isPositive();
    List<Digest> chain = chainsOfAgent.computeIfAbsent(save.series(), _ -> new ArrayList<>());
    assertThat(chain.size()).as("what the agent knows of the series").isGreaterThanOrEqualTo(save.known());
    List<Digest> continued = new ArrayList<>(chain.subList(0, save.known()));
    IntStream.range(0, save.hashes().blocks()).mapToObj(save.hashes()::hash).forEach(continued::add);
    chainsOfAgent.put(save.series(), continued);
    assertThat(continued.size()).isGreaterThanOrEqualTo(end);
    if (request.status != Status.RUNNING) {
      // Preempted, and nobody said so: the connector sees that the pages are not the request's.
      next.savesEnded.add(new SchedulerRequest.SaveEnded(save.save(), 0));
      return;
    }
    assertThat(saves.put(save.save(), save)).isNull();
    assertThat(save.firstBlock()).as("no block is left out but what is stored")
        .isIn(0, request.savedTo, request.held);
    request.savedTo = end;
    assertThat(end * BLOCK_TOKENS).as("computed when the step has run").isLessThanOrEqualTo(request.computedTokens);
    assertThat(save.pages()).containsExactly(Arrays.copyOfRange(request.pages, save.firstBlock(), end));
    assertThat(request.since).as("nothing computed before a reset").isEqualTo(generation);
    PrefixChain hashes = Scheduler.chain(request.seed, request.blocks);
    for (int block = 0; block < end; block++) {
      Digest mask = xor(continued.get(block), hashes.hash(block));
      assertThat(masks.computeIfAbsent(generation, _ -> mask)).as("one mask in a generation").isEqualTo(mask);
    }
  }

  private static Digest xor(Digest a, Digest b) {
    return new Digest(a.w0() ^ b.w0(), a.w1() ^ b.w1(), a.w2() ^ b.w2(), a.w3() ^ b.w3());
  }

  // ---- between steps

  private void preempt(Simulated request, boolean told) {
    request.status = Status.WAITING;
    request.computedTokens = 0;
    if (told) {
      next.preempted.add(request.id);
    }
  }

  private void finish(Simulated request) {
    requests.remove(request.id);
    next.finished.add(request.id);
  }

  private void endLoad(int detail) {
    Optional<SchedulerReply.Load> some =
        loads.values().stream().skip(loads.isEmpty() ? 0 : detail % loads.size()).findFirst();
    some.ifPresent(load -> {
      loads.remove(load.request());
      boolean loaded = detail % 3 != 0;
      next.loadsEnded.add(new SchedulerRequest.LoadEnded(load.request(), loaded));
      Simulated request = requests.get(load.request());
      if (request != null) {
        request.status = Status.WAITING;
        if (!loaded) {
          request.computedTokens = 0;
          request.mayLoad = false;
        }
      }
    });
  }

  /** What came is computed behind it; nothing tells this connector. An aborted request's transfer ends unheard. */
  private void endTransfer(int detail) {
    pick(detail, Status.TRANSFERRED).ifPresent(request -> {
      int brought = detail / 4 % 3 == 0 ? detail % (request.blocks + 1) : request.blocks;
      transfers[brought == request.blocks ? 0 : brought > 0 ? 1 : 2]++;
      request.computedTokens = brought * BLOCK_TOKENS;
      request.status = Status.WAITING;
    });
  }

  private void endSave(int detail) {
    Optional<SchedulerReply.Save> some =
        saves.values().stream().skip(saves.isEmpty() ? 0 : detail % saves.size()).findFirst();
    some.ifPresent(save -> {
      saves.remove(save.save());
      int committed = detail % 3 == 0 ? 0 : save.pages().length;
      next.savesEnded.add(new SchedulerRequest.SaveEnded(save.save(), committed));
      if (committed > 0) {
        storedSaves.add(save.save());
      }
    });
  }

  private void reset() {
    do {
      flush(Map.of());
      // Also the ends of saves that the connector did not start: their pages were not the request's any more.
    } while (!next.savesEnded.isEmpty());
    boolean idle = loads.isEmpty() && saves.isEmpty() && scheduler.cache.underWay() == 0;
    assertThat(scheduler.requests.reset()).isEqualTo(idle);
    if (idle) {
      generation++;
    }
  }

  /** Everything ends. Nothing may be left. */
  void end() {
    List.copyOf(requests.values()).forEach(this::finish);
    flush(Map.of());
    while (!loads.isEmpty()) {
      endLoad(1);
    }
    while (!saves.isEmpty()) {
      endSave(1);
    }
    flush(Map.of());
    assertThat(scheduler.cache.heldNow()).as("leases").isZero();
    assertThat(scheduler.cache.underWay()).as("queries").isZero();
    assertThat(chainsOfAgent).as("series that go on").isEmpty();
    assertThat(storedSaves).as("saves that were stored, and not told").isEmpty();
    assertThat(scheduler.count("requests")).isZero();
    assertThat(scheduler.count("loads_under_way")).isZero();
    assertThat(scheduler.count("saves_under_way")).isZero();
    assertThat(new HashSet<>(masks.values())).as("a mask for each generation").hasSameSizeAs(masks.keySet());
  }
}
