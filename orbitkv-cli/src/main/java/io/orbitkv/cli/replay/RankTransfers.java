package io.orbitkv.cli.replay;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/** What one rank of the stand-in engine moves between its pages and a cache. Used by one thread. */
final class RankTransfers implements AutoCloseable {

  private final EngineRank rank;
  private final PageLayout layout;
  private final Device device;
  private final Tally tally;

  /**
   * @param device copies; stays the caller's
   * @param tally counts what was moved
   */
  RankTransfers(ReplayPlan plan, int rank, Device device, Tally tally) {
    this.layout = plan.pages();
    this.rank = new EngineRank(
        rank, layout, new BlockContent(plan.session("replay").namespace()), device, plan.seed());
    this.device = device;
    this.tally = tally;
  }

  /**
   * Takes the rank's share of a lease, copies it into pages and checks every byte.
   *
   * @param share takes the share
   * @return whether it was granted
   */
  boolean restore(Supplier<RestoreGrant> share, int request, PrefixChain chain) {
    long start = System.nanoTime();
    RestoreGrant grant;
    try {
      grant = share.get();
    } catch (RefusedException | UnavailableException e) {
      // The lease has ended: with the Manager that gave it, or with another rank. An engine computes instead.
      return false;
    }
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
        rank.verify(chain, first, pages, (block, ofRank, layer) -> tally.wrongPage(request, block, ofRank, layer));
      }
    }
    tally.restored((long) grant.blocks() * layout.shardBytes(), nanos);
    return true;
  }

  /** Computes blocks into pages and saves those that the cache wants. */
  void computeAndSave(Session session, PrefixChain chain, int first, int end) {
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

  int rank() {
    return rank.rank();
  }

  @Override
  public void close() {
    rank.close();
  }
}
