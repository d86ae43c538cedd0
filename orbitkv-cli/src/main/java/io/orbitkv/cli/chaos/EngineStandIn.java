package io.orbitkv.cli.chaos;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Lease;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.Ticket;
import io.orbitkv.cli.replay.BlockContent;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * An engine of one rank that computes nothing: its blocks are a function of their names, so that every restored byte can
 * be compared. It goes on whatever happens to its cache. Used by one thread.
 */
public final class EngineStandIn implements StandIn {

  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(2);

  /** Every stand-in restores what any other saved. */
  private static final Namespace NAMESPACE = Namespace.builder("orbitkv-stand-in", "1", Digest.ZERO).build();

  private final Session session;
  private final StandInPrompts prompts;
  private final Consumer<StandInStep> pause;
  private final BlockContent content = new BlockContent(NAMESPACE);
  private final CRC32C crc = new CRC32C();
  private final int blockBytes;
  private final MemorySegment pages;
  private long pausedNanos;
  private StandInReport done = StandInReport.NOTHING;

  /**
   * @param session attached with {@link #spec}; stays the caller's
   * @param arena for its pages
   * @param seed decides its prompts
   * @param pause called at each step of a request, on the stand-in's thread
   */
  public EngineStandIn(Session session, Arena arena, long seed, Consumer<StandInStep> pause) {
    this.session = session;
    this.prompts = new StandInPrompts(seed);
    this.blockBytes = session.spec().layout().shardBytes();
    this.pages = arena.allocate((long) StandInPrompts.MOST_BLOCKS * blockBytes, 4096);
    this.pause = step -> {
      long start = System.nanoTime();
      pause.accept(step);
      pausedNanos += System.nanoTime() - start;
    };
  }

  /**
   * Returns what a stand-in attaches as.
   *
   * @param name its name
   * @param blockBytes bytes of a block, a multiple of 8
   */
  public static SessionSpec spec(String name, int blockBytes) {
    return new SessionSpec(name, NAMESPACE, ShardLayout.single(blockBytes), 16);
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
    boolean without = false;
    int mismatches = 0;
    pages.fill((byte) 0xA5);
    try {
      restored = restore(chain);
    } catch (OrbitKvException e) {
      // The lease ended, or its Manager did. An engine computes then, whatever was copied.
      without = true;
    }
    for (int block = 0; block < restored; block++) {
      if (!BlockContent.matches(pages, (long) block * blockBytes, blockBytes, content.seed(chain, block, 0, 0))) {
        mismatches++;
      }
    }
    for (int block = 0; block < chain.blocks(); block++) {
      BlockContent.fill(pages, (long) block * blockBytes, blockBytes, content.seed(chain, block, 0, 0));
    }
    try {
      saved = save(chain, restored);
    } catch (OrbitKvException e) {
      without = true;
    }
    long millis = (System.nanoTime() - start - pausedNanos) / 1_000_000;
    done = done.plus(new StandInReport(1, restored, saved, (long) restored * blockBytes, mismatches, without ? 1 : 0,
        millis));
  }

  private int restore(PrefixChain chain) throws InterruptedException {
    Ticket ticket = session.query(chain);
    pause.accept(StandInStep.ASKED);
    if (!(ticket.await(ANSWER_LIMIT) instanceof Answer.Hit hit)) {
      ticket.cancel();
      return 0;
    }
    int blocks;
    try (Lease lease = hit.lease()) {
      pause.accept(StandInStep.LEASED);
      try (RestoreGrant grant = session.restore(lease, 0)) {
        pause.accept(StandInStep.RESTORE_GRANTED);
        blocks = grant.blocks();
        copyIn(grant, 0, blocks / 2);
        pause.accept(StandInStep.HALF_RESTORED);
        copyIn(grant, blocks / 2, blocks);
        grant.enqueued();
        pause.accept(StandInStep.RESTORE_ENQUEUED);
      }
    }
    pause.accept(StandInStep.RESTORED);
    return blocks;
  }

  private void copyIn(RestoreGrant grant, int from, int to) {
    for (int block = from; block < to; block++) {
      MemorySegment.copy(grant.shard(block), 0, pages, (long) block * blockBytes, blockBytes);
    }
  }

  private int save(PrefixChain chain, int from) {
    int committed;
    try (SaveGrant grant = session.reserve(0, chain, from, chain.blocks())) {
      if (grant.wanted() == 0) {
        return 0;
      }
      pause.accept(StandInStep.SAVE_GRANTED);
      int middle = (from + chain.blocks()) / 2;
      copyOut(grant, from, middle);
      pause.accept(StandInStep.HALF_SAVED);
      copyOut(grant, middle, chain.blocks());
      pause.accept(StandInStep.COPIED);
      committed = grant.commit();
    }
    pause.accept(StandInStep.COMMITTED);
    return committed;
  }

  private void copyOut(SaveGrant grant, int from, int to) {
    for (int block = from; block < to; block++) {
      if (grant.wants(block)) {
        MemorySegment page = pages.asSlice((long) block * blockBytes, blockBytes);
        grant.shard(block).copyFrom(page);
        crc.reset();
        crc.update(page.asByteBuffer());
        grant.copied(block, (int) crc.getValue());
      }
    }
  }
}
