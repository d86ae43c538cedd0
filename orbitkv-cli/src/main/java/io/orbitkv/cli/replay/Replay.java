package io.orbitkv.cli.replay;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Lease;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.Ticket;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.Transfer;
import io.orbitkv.cli.terminal.Progress;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * Serves prompts one after another, each through the whole path of a cache: query its chain, restore the hit into the
 * pages of every rank, check every restored byte, compute the missing blocks and save them from every rank.
 *
 * <p>The loop is closed: a prompt starts when the one before it has ended. Ranks take turns on the calling thread, so a
 * run is repeated exactly by its seed. Used by one thread.
 */
public final class Replay {

  /** How long a query may wait for the SSD before the stand-in engine computes instead. */
  private static final Duration QUERY_LIMIT = Duration.ofSeconds(30);

  private static final Duration FLUSH_LIMIT = Duration.ofMinutes(2);

  private final ReplayPlan plan;
  private final CacheOpener opener;
  private final Progress progress;
  private final Consumer<String> notes;
  private final SessionSpec spec;
  private final PageLayout layout;
  private final List<EngineRank> ranks = new ArrayList<>();
  private final Device device;
  private final ReplayTally tally = new ReplayTally();

  /**
   * @param plan what to replay
   * @param opener opens the cache
   * @param device copies between the engine's pages and the cache; stays the caller's
   * @param progress told of every prompt served
   * @param notes receives a line for what a person should know at once, as a restart or a wrong page
   */
  public Replay(ReplayPlan plan, CacheOpener opener, Device device, Progress progress, Consumer<String> notes) {
    this.plan = plan;
    this.opener = opener;
    this.device = device;
    this.progress = progress;
    this.notes = notes;
    this.layout = plan.pages();
    this.spec = new SessionSpec("replay", namespace(plan, layout), plan.shards());
  }

  /**
   * Runs the plan.
   *
   * @return what was counted
   * @throws InterruptedException if the thread was interrupted; the cache is closed
   */
  public ReplayReport run() throws InterruptedException {
    BlockContent content = new BlockContent(spec.namespace());
    try {
      for (int rank = 0; rank < plan.ranks(); rank++) {
        ranks.add(new EngineRank(rank, layout, content, device, plan.seed()));
      }
      long start = System.nanoTime();
      int from = 0;
      for (int restart : plan.restartsAt()) {
        serveWithOneCache(from, restart, true);
        from = restart;
      }
      serveWithOneCache(from, plan.workload().prompts().size(), false);
      return tally.report(plan, System.nanoTime() - start);
    } finally {
      ranks.forEach(EngineRank::close);
      ranks.clear();
    }
  }

  private void serveWithOneCache(int from, int to, boolean flush) throws InterruptedException {
    CacheOpener.Opened opened = opener.open();
    tally.cacheOpened(from, opened.recovery());
    try (Cache cache = opened.cache()) {
      try (Session session = cache.attach(spec)) {
        for (int request = from; request < to; request++) {
          serve(session, request, plan.workload().prompts().get(request));
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

  private void serve(Session session, int request, PrefixChain chain) throws InterruptedException {
    if (chain.blocks() == 0) {
      tally.served(0, 0, 0);
      return;
    }
    int hit = 0;
    if (query(session, chain) instanceof Answer.Hit answer) {
      hit = answer.blocks();
      tally.served(chain.blocks(), answer.dramBlocks(), answer.ssdBlocks());
      try (Lease lease = answer.lease()) {
        for (EngineRank rank : ranks) {
          restore(session, lease, rank, request, chain);
        }
      }
    } else {
      tally.served(chain.blocks(), 0, 0);
    }
    for (int first = hit; first < chain.blocks(); first += layout.pages()) {
      int end = Math.min(first + layout.pages(), chain.blocks());
      for (EngineRank rank : ranks) {
        computeAndSave(session, rank, chain, first, end);
      }
    }
  }

  /** Asks once, and waits only if the SSD is being read: a resident hit must be in the first answer. */
  private Answer query(Session session, PrefixChain chain) throws InterruptedException {
    long start = System.nanoTime();
    Ticket ticket = session.query(chain);
    Answer answer = ticket.poll();
    long answered = System.nanoTime();
    tally.lookup(answered - start);
    if (answer.isFinal()) {
      return answer;
    }
    answer = ticket.await(QUERY_LIMIT);
    tally.ssdWait(System.nanoTime() - answered);
    if (!answer.isFinal()) {
      ticket.cancel();
      notes.accept("a query waited " + QUERY_LIMIT.toSeconds() + " s for the SSD and was cancelled");
    }
    return answer;
  }

  private void restore(Session session, Lease lease, EngineRank rank, int request, PrefixChain chain) {
    long start = System.nanoTime();
    RestoreGrant grant = session.restore(lease, rank.rank());
    long nanos = System.nanoTime() - start;
    try (grant) {
      for (int first = 0; first < grant.blocks(); first += layout.pages()) {
        int[] pages = rank.takePages(Math.min(layout.pages(), grant.blocks() - first));
        rank.scrub(pages);
        start = System.nanoTime();
        MemorySegment[] shards = new MemorySegment[pages.length];
        for (int i = 0; i < pages.length; i++) {
          shards[i] = grant.shard(first + i);
        }
        Transfer transfer = device.restore(rank.pages(), pages, shards);
        if (first + pages.length == grant.blocks()) {
          grant.enqueued();
        }
        transfer.awaitDrained();
        nanos += System.nanoTime() - start;
        rank.verify(chain, first, pages, (block, ofRank, layer) -> wrongPage(request, block, ofRank, layer));
      }
    }
    tally.restored((long) grant.blocks() * layout.shardBytes(), nanos);
  }

  private void computeAndSave(Session session, EngineRank rank, PrefixChain chain, int first, int end) {
    int[] pages = rank.takePages(end - first);
    rank.compute(chain, first, pages);
    long start = System.nanoTime();
    int committed;
    try (SaveGrant grant = session.reserve(rank.rank(), chain, first, end)) {
      int[] wanted = new int[grant.wanted()];
      int[] wantedPages = new int[wanted.length];
      MemorySegment[] shards = new MemorySegment[wanted.length];
      int count = 0;
      for (int block = first; block < end; block++) {
        if (grant.wants(block)) {
          wanted[count] = block;
          wantedPages[count] = pages[block - first];
          shards[count++] = grant.shard(block);
        }
      }
      Transfer transfer = device.save(rank.pages(), wantedPages, shards);
      transfer.awaitDrained();
      for (int i = 0; i < count; i++) {
        grant.copied(wanted[i], transfer.checksum(i));
      }
      committed = grant.commit();
    }
    tally.saved((long) committed * layout.shardBytes(), System.nanoTime() - start);
  }

  private void wrongPage(int request, int block, int rank, int layer) {
    if (tally.wrongPage()) {
      notes.accept(
          "wrong bytes: request " + (request + 1) + ", block " + block + ", rank " + rank + ", layer " + layer);
    }
  }

  /** The same shape has the same name in every run, so that a second replay over an SSD folder starts warm. */
  private static Namespace namespace(ReplayPlan plan, PageLayout layout) {
    int[] pageBytes = new int[layout.layers()];
    Arrays.fill(pageBytes, layout.pageBytes());
    return Namespace.builder("orbitkv-replay", "1", Digest.ZERO)
        .layout("layer-major", pageBytes)
        .parallel(plan.ranks(), 1)
        .build();
  }
}
