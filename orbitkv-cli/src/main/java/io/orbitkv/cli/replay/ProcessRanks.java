package io.orbitkv.cli.replay;

import io.orbitkv.api.Lease;
import io.orbitkv.api.Session;
import java.util.ArrayList;
import java.util.List;

/** Ranks in processes of their own, which work at the same time. */
final class ProcessRanks implements EngineRanks {

  /** The name under which the scheduler and the ranks register. */
  static final String INSTANCE = "replay";

  private final List<WorkerProcess> ranks;
  private final Tally tally;

  private ProcessRanks(List<WorkerProcess> ranks, Tally tally) {
    this.ranks = ranks;
    this.tally = tally;
  }

  /**
   * Starts every rank and waits until all are registered.
   *
   * @param commands each rank's command line
   * @param tally counts what they do
   */
  static ProcessRanks start(List<List<String>> commands, Tally tally) {
    ProcessRanks started = new ProcessRanks(new ArrayList<>(), tally);
    try {
      for (List<String> command : commands) {
        started.ranks.add(new WorkerProcess("rank " + started.ranks.size(), command));
      }
      started.ranks.forEach(rank -> rank.await(Worker.READY, tally));
      return started;
    } catch (RuntimeException e) {
      started.close();
      throw e;
    }
  }

  @Override
  public boolean restore(Session session, Lease lease, int request) {
    return all(Worker.RESTORE + " " + request + " " + lease.id());
  }

  @Override
  public void computeAndSave(Session session, int request, int first, int end) {
    all(Worker.SAVE + " " + request + " " + first + " " + end);
  }

  /** Returns whether every rank could do it. All have ended then, also those that could. */
  private boolean all(String order) {
    ranks.forEach(rank -> rank.tell(order));
    boolean done = true;
    for (WorkerProcess rank : ranks) {
      done &= rank.await(Worker.DONE, tally);
    }
    return done;
  }

  @Override
  public void close() {
    ranks.forEach(WorkerProcess::close);
  }
}
