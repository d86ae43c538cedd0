package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.CacheUse.Sharing;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.List;

/** Workers of two roles that must not find each other's bytes have different scopes, wherever they share a Manager. */
record SeparateNames() implements Rule {

  @Override
  public String name() {
    return "separate-names";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    List<Violation> broken = new ArrayList<>();
    if (composition.cache().sharing() == Sharing.SEPARATE) {
      for (Worker decode : composition.workers(Role.DECODE)) {
        composition.workers(Role.PREFILL).stream()
            .filter(prefill -> decode.mode().saves() && decode.sharesManagerWith(prefill)
                && decode.scope().equals(prefill.scope()))
            .findFirst()
            .ifPresent(prefill -> broken.add(new Violation(name(), "scope of " + decode.title(),
                "'" + decode.scope() + "'", "another than that of " + prefill.title()
                    + ", since sharing is 'separate' and they use one Manager",
                "give each role a scope of its own, or a Manager of its own")));
      }
    }
    return broken;
  }
}
