package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import java.util.List;

/** One thing that must be true of a composition. */
public interface Rule {

  /** Returns its name, as a violation shows it. */
  String name();

  /** Returns where a composition breaks it; nothing if it does not, or if the rule is not about such a one. */
  List<Violation> broken(Composition composition);
}
