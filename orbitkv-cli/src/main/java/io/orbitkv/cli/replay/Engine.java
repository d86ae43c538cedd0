package io.orbitkv.cli.replay;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Lease;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.api.Ticket;
import java.time.Duration;
import java.util.function.Consumer;

/** The scheduler of the stand-in engine: what is asked, restored, computed and saved for a prompt, and in which order. */
final class Engine {

  /** How long a query may wait for the SSD before the stand-in engine computes instead. */
  private static final Duration QUERY_LIMIT = Duration.ofSeconds(30);

  private final ReplayPlan plan;
  private final EngineRanks ranks;
  private final Tally tally;
  private final Consumer<String> notes;
  /** Blocks that are computed at once. */
  private final int step;

  Engine(ReplayPlan plan, EngineRanks ranks, Tally tally, Consumer<String> notes) {
    this.plan = plan;
    this.ranks = ranks;
    this.tally = tally;
    this.notes = notes;
    this.step = plan.pages().pages();
  }

  /** Serves a prompt of the plan's workload. */
  void serve(Session session, int request) throws InterruptedException {
    PrefixChain chain = plan.workload().prompts().get(request);
    if (chain.blocks() == 0) {
      tally.served(0, 0, 0);
      return;
    }
    int hit = 0;
    if (query(session, chain) instanceof Answer.Hit answer) {
      hit = answer.blocks();
      tally.served(chain.blocks(), answer.dramBlocks(), answer.ssdBlocks());
      try (Lease lease = answer.lease()) {
        if (!ranks.restore(session, lease, request)) {
          tally.lost(hit);
          hit = 0;
        }
      }
    } else {
      tally.served(chain.blocks(), 0, 0);
    }
    for (int first = hit; first < chain.blocks(); first += step) {
      ranks.computeAndSave(session, request, first, Math.min(first + step, chain.blocks()));
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
}
