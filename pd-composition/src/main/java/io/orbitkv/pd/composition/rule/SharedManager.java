package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.CacheUse.Sharing;
import io.orbitkv.pd.composition.Composition;
import java.util.List;

/** Without a node's Manager the agent of rank 0 hosts one for its engine, and nobody else reaches it. */
record SharedManager() implements Rule {

  @Override
  public String name() {
    return "shared-manager";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    if (composition.cache().sharing() != Sharing.SHARED) {
      return List.of();
    }
    return composition.workers().stream()
        .filter(worker -> worker.mode() != CacheMode.OFF && worker.manager().isEmpty())
        .map(worker -> new Violation(name(), "manager of " + worker.title(), "not set",
            "the socket of its host's Manager, since sharing is 'shared' and a Manager of the engine's own is shared"
                + " with nobody",
            "start 'orbitkv manager' on " + worker.host() + " and set manager, or set sharing to 'separate'"))
        .toList();
  }
}
