package io.orbitkv.cli.replay;

import io.orbitkv.api.Lease;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.api.spi.Device;
import java.util.ArrayList;
import java.util.List;

/** Ranks in this process, which take turns on the calling thread. */
final class LocalRanks implements EngineRanks {

  private final ReplayPlan plan;
  private final List<RankTransfers> ranks = new ArrayList<>();

  private LocalRanks(ReplayPlan plan) {
    this.plan = plan;
  }

  /** Makes every rank of the plan. */
  static LocalRanks all(ReplayPlan plan, Device device, Tally tally) {
    LocalRanks all = new LocalRanks(plan);
    for (int rank = 0; rank < plan.ranks(); rank++) {
      all.ranks.add(new RankTransfers(plan, rank, device, tally));
    }
    return all;
  }

  @Override
  public boolean restore(Session session, Lease lease, int request) {
    boolean granted = true;
    for (RankTransfers rank : ranks) {
      granted &= rank.restore(() -> session.restore(lease, rank.rank()), request, prompt(request));
    }
    return granted;
  }

  @Override
  public void computeAndSave(Session session, int request, int first, int end) {
    for (RankTransfers rank : ranks) {
      rank.computeAndSave(session, prompt(request), first, end);
    }
  }

  private PrefixChain prompt(int request) {
    return plan.workload().prompts().get(request);
  }

  @Override
  public void close() {
    ranks.forEach(RankTransfers::close);
  }
}
