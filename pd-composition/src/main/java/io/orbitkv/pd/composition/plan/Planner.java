package io.orbitkv.pd.composition.plan;

import io.orbitkv.api.RefusedException;
import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Engine;
import io.orbitkv.pd.composition.NixlTransport;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.rule.Rules;
import java.util.List;

/** Says what to start. */
public final class Planner {

  private Planner() {}

  /**
   * Returns every process of a composition: prefill workers, decode workers, the router.
   *
   * @throws RefusedException if the composition breaks a rule
   */
  public static List<ProcessPlan> plan(Composition composition) {
    Rules.require(composition);
    return switch (composition.transport()) {
      case NixlTransport nixl -> VllmPlan.of(composition, nixl);
      case QueueTransport queues -> SglangPlan.of(composition, queues);
    };
  }

  /** Returns what an operator has to know of a plan, a line each. */
  public static List<String> notes(Composition composition) {
    boolean isLinked = composition.workers().stream().anyMatch(worker -> worker.mode() != CacheMode.OFF);
    return composition.engine() == Engine.SGLANG && isLinked
        ? List.of("SGLang's own parser has read such a plan, and its tree served its roles on a CPU; no transport has moved"
            + " pages for it: this is a candidate")
        : List.of();
  }
}
