package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.CacheUse.Sharing;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import java.util.List;

/** Decode restores nothing: what it saves is for prefill workers at the same Manager. Elsewhere nobody looks for it. */
record SavesAreFound() implements Rule {

  @Override
  public String name() {
    return "saves-are-found";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    if (composition.cache().sharing() != Sharing.SHARED) {
      return List.of();
    }
    List<Worker> prefill = composition.workers(Role.PREFILL);
    return composition.workers(Role.DECODE).stream()
        .filter(worker -> worker.mode().saves() && worker.manager().isPresent())
        .filter(worker -> prefill.stream().noneMatch(worker::sharesManagerWith))
        .map(worker -> new Violation(name(), "manager of " + worker.title(),
            "'" + worker.manager().get() + "' on " + worker.host(),
            "the Manager of some prefill worker, since nobody else finds what decode saves",
            "place it on a host with prefill, or set its cache to 'off'"))
        .toList();
  }
}
