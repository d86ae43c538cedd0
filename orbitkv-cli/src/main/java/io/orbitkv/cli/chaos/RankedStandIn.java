package io.orbitkv.cli.chaos;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Lease;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.Ticket;
import io.orbitkv.cli.replay.BlockContent;
import io.orbitkv.core.agent.AgentClient;
import io.orbitkv.core.agent.AgentTransfer;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * An engine of several ranks that computes nothing, whose ranks move their shards through agents, and whose scheduler
 * asks the Manager. Pages that an agent may be writing to are out of use, and it goes on with others. Used by one thread.
 */
public final class RankedStandIn implements StandIn, AutoCloseable {

  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(1);
  private static final Duration AGENT_DEADLINE = Duration.ofMillis(500);
  private static final Duration TRANSFER_LIMIT = Duration.ofMillis(500);
  private static final Duration PART = Duration.ofMillis(50);
  private static final long POLL_NANOS = Duration.ofMillis(2).toNanos();

  /** A prompt uses one set of pages; the others are for when an agent keeps it. */
  private static final int SETS = 4;

  private final List<Rank> ranks = new ArrayList<>();
  private final ManagerClient client;
  private final Session scheduler;
  private final StandInPrompts prompts;
  private final Consumer<StandInStep> pause;
  /** The set that each transfer uses until it is reported. */
  private final Map<Begun, Integer> setOf = new HashMap<>();
  private int lastSet;
  private long pausedNanos;
  private StandInReport done = StandInReport.NOTHING;

  /** One rank. */
  private record Rank(int number, AgentClient agent, RankPages pages) {}

  /** A transfer of one rank. */
  private record Begun(int rank, AgentTransfer transfer) {}

  /**
   * Registers its scheduler; ranks connect to their agents when they are needed.
   *
   * @param instance its name
   * @param manager the Manager's socket, for the scheduler
   * @param agents each rank's agent
   * @param blockBytes bytes of a block, a multiple of 32 for each rank
   * @param pools a folder on tmpfs for its pages
   * @param seed decides its prompts
   * @param pause called at each step of a request, on the caller's thread
   */
  public RankedStandIn(String instance, Path manager, List<Path> agents, int blockBytes, Path pools, long seed,
      Consumer<StandInStep> pause) {
    long incarnation = Membership.newIncarnation();
    ShardLayout layout = new ShardLayout(agents.size(), blockBytes / agents.size());
    Namespace namespace = Namespace.builder("orbitkv-stand-in-" + agents.size(), "1", Digest.ZERO).build();
    SessionSpec spec = new SessionSpec(instance, namespace, layout, 16);
    BlockContent content = new BlockContent(namespace);
    this.prompts = new StandInPrompts(seed);
    this.pause = step -> {
      long start = System.nanoTime();
      pause.accept(step);
      pausedNanos += System.nanoTime() - start;
    };
    this.client = ManagerClient.open(manager);
    this.scheduler = client.attach(spec, new Membership(incarnation, Membership.SCHEDULER));
    for (int rank = 0; rank < agents.size(); rank++) {
      RankPages pages =
          new RankPages(rank, SETS, StandInPrompts.MOST_BLOCKS, layout.shardBytes(), content, pools);
      AgentClient agent = new AgentClient(agents.get(rank), new AgentClient.Worker(instance, incarnation, namespace, rank,
          agents.size(), false, spec.blockTokens(), pages.layout(), pages.file()), AGENT_DEADLINE);
      ranks.add(new Rank(rank, agent, pages));
    }
  }

  @Override
  public StandInReport report() {
    return done;
  }

  @Override
  public void forgetLongest() {
    done = done.withLongest(0);
  }

  @Override
  public void serve() throws InterruptedException {
    long start = System.nanoTime();
    pausedNanos = 0;
    PrefixChain chain = prompts.next();
    int restored = 0;
    int saved = 0;
    int mismatches = 0;
    Optional<Integer> set = takeSet();
    if (set.isPresent()) {
      ranks.forEach(rank -> rank.pages.scrub(set.get()));
      restored = restore(chain, set.get());
      for (Rank rank : ranks) {
        mismatches += rank.pages.wrong(set.get(), chain, restored);
      }
    }
    // A load that is not reported keeps its pages, and the prompt is computed in others.
    Optional<Integer> free = set.filter(this::isFree).or(this::takeSet);
    if (free.isPresent()) {
      int first = restored;
      ranks.forEach(rank -> rank.pages.compute(free.get(), chain, first));
      saved = save(chain, restored, free.get());
      // Nobody else may write to pages of the engine's.
      for (Rank rank : ranks) {
        mismatches += rank.pages.wrong(free.get(), chain, chain.blocks());
      }
    }
    long millis = (System.nanoTime() - start - pausedNanos) / 1_000_000;
    done = done.plus(new StandInReport(1, restored, saved, (long) restored * scheduler.spec().layout().blockBytes(),
        mismatches, free.isPresent() ? 0 : 1, millis));
  }

  /** Returns a set that no transfer uses, the one used longest ago; waits a while for one. */
  private Optional<Integer> takeSet() {
    long end = System.nanoTime() + TRANSFER_LIMIT.toNanos();
    do {
      for (int i = 1; i <= SETS; i++) {
        int set = (lastSet + i) % SETS;
        if (isFree(set)) {
          lastSet = set;
          return Optional.of(set);
        }
      }
      progress(new HashMap<>());
    } while (System.nanoTime() - end < 0);
    return Optional.empty();
  }

  private boolean isFree(int set) {
    return !setOf.containsValue(set);
  }

  private int restore(PrefixChain chain, int set) throws InterruptedException {
    try {
      Ticket ticket = scheduler.query(chain);
      pause.accept(StandInStep.ASKED);
      if (!(ticket.await(ANSWER_LIMIT) instanceof Answer.Hit hit)) {
        ticket.cancel();
        return 0;
      }
      try (Lease lease = hit.lease()) {
        pause.accept(StandInStep.LEASED);
        List<Begun> loads = new ArrayList<>();
        for (Rank rank : ranks) {
          rank.agent.load(lease.id(), 0, rank.pages.pages(set, 0, lease.blocks()))
              .ifPresent(load -> loads.add(begun(rank, load, set)));
        }
        pause.accept(StandInStep.RESTORE_ENQUEUED);
        int blocks = blocksOfAll(loads);
        pause.accept(StandInStep.RESTORED);
        return blocks;
      }
    } catch (OrbitKvException e) {
      // The Manager went: the same as a miss.
      return 0;
    }
  }

  private int save(PrefixChain chain, int from, int set) {
    List<Begun> saves = new ArrayList<>();
    for (Rank rank : ranks) {
      rank.agent.save(chain, from, rank.pages.pages(set, from, chain.blocks()))
          .ifPresent(save -> saves.add(begun(rank, save, set)));
    }
    pause.accept(StandInStep.COPIED);
    int blocks = blocksOfAll(saves);
    pause.accept(StandInStep.COMMITTED);
    return blocks;
  }

  private Begun begun(Rank rank, AgentTransfer transfer, int set) {
    Begun begun = new Begun(rank.number, transfer);
    setOf.put(begun, set);
    return begun;
  }

  /** Waits a while for transfers, one of each rank. Returns how many blocks every rank has, none if a report is missing. */
  private int blocksOfAll(List<Begun> transfers) {
    Map<Begun, Integer> reported = new HashMap<>();
    long end = System.nanoTime() + TRANSFER_LIMIT.toNanos();
    while (reported.size() < transfers.size() && System.nanoTime() - end < 0) {
      progress(reported);
      // Those of earlier prompts may be told now.
      reported.keySet().retainAll(transfers);
    }
    return transfers.size() == ranks.size() && reported.size() == transfers.size()
        ? reported.values().stream().mapToInt(Integer::intValue).min().orElseThrow()
        : 0;
  }

  /** Takes reports, and gives pages back. */
  private void progress(Map<Begun, Integer> reported) {
    long start = System.nanoTime();
    int before = reported.size();
    for (Rank rank : ranks) {
      for (AgentTransfer.Report report : rank.agent.progress(PART)) {
        Begun begun = new Begun(rank.number, report.transfer());
        setOf.remove(begun);
        reported.put(begun, report.blocks());
      }
    }
    if (reported.size() == before) {
      // Without an agent it was answered at once.
      LockSupport.parkNanos(start + POLL_NANOS - System.nanoTime());
    }
  }

  /** Leaves its agents and the Manager, and removes its pages. */
  @Override
  public void close() {
    for (Rank rank : ranks) {
      rank.agent.close();
      rank.pages.close();
    }
    scheduler.close();
    client.close();
  }
}
