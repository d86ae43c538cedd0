package io.orbitkv.cli.replay;

import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Session;
import io.orbitkv.api.spi.Device;
import io.orbitkv.cli.terminal.Progress;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Serves prompts one after another, each through the whole path of a cache: query its chain, restore the hit into the
 * pages of every rank, check every restored byte, compute the missing blocks and save them from every rank.
 *
 * <p>The loop is closed: a prompt starts when the one before it has ended. Ranks of this process take turns on the
 * calling thread, so a run is repeated exactly by its seed. Used by one thread.
 */
public final class Replay {

  private static final Duration FLUSH_LIMIT = Duration.ofMinutes(2);

  private final ReplayPlan plan;
  private final CacheOpener opener;
  private final Progress progress;
  private final Consumer<String> notes;
  private final Function<Tally, EngineRanks> ranks;
  private final ReplayTally tally;

  /**
   * @param plan what to replay
   * @param opener opens the cache
   * @param device copies between the engine's pages and the cache; stays the caller's
   * @param progress told of every prompt served
   * @param notes receives a line for what a person should know at once, as a restart or a wrong page
   */
  public Replay(ReplayPlan plan, CacheOpener opener, Device device, Progress progress, Consumer<String> notes) {
    this(plan, opener, progress, notes, tally -> LocalRanks.all(plan, device, tally));
  }

  /** @param ranks makes the engine's ranks, given where they count */
  Replay(ReplayPlan plan, CacheOpener opener, Progress progress, Consumer<String> notes,
      Function<Tally, EngineRanks> ranks) {
    this.plan = plan;
    this.opener = opener;
    this.progress = progress;
    this.notes = notes;
    this.ranks = ranks;
    this.tally = new ReplayTally(notes);
  }

  /**
   * Runs the plan.
   *
   * @return what was counted
   * @throws InterruptedException if the thread was interrupted; the cache is closed
   */
  public ReplayReport run() throws InterruptedException {
    try (EngineRanks engineRanks = ranks.apply(tally)) {
      Engine engine = new Engine(plan, engineRanks, tally, notes);
      long start = System.nanoTime();
      int from = 0;
      for (int restart : plan.restartsAt()) {
        serveWithOneCache(engine, from, restart, true);
        from = restart;
      }
      serveWithOneCache(engine, from, plan.workload().prompts().size(), false);
      return tally.report(plan, System.nanoTime() - start);
    }
  }

  private void serveWithOneCache(Engine engine, int from, int to, boolean flush) throws InterruptedException {
    CacheOpener.Opened opened = opener.open();
    tally.cacheOpened(from, opened.recovery());
    try (Cache cache = opened.cache()) {
      try (Session session = cache.attach(plan.session("replay"))) {
        for (int request = from; request < to; request++) {
          engine.serve(session, request);
          progress.advanceTo(request + 1L);
        }
      }
      if (flush && !cache.flush(FLUSH_LIMIT)) {
        notes.accept("flush before the restart did not end within " + FLUSH_LIMIT.toSeconds() + " s; going on");
      }
      CacheStats stats = cache.stats();
      tally.cacheClosing(to, stats);
    }
  }
}
