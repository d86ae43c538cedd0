package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Role;
import java.util.ArrayList;
import java.util.List;

/** A router of either engine needs both kinds of workers; a role alone serves no request. */
record BothRoles() implements Rule {

  @Override
  public String name() {
    return "both-roles";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    List<Violation> broken = new ArrayList<>();
    for (Role role : Role.values()) {
      if (composition.workers(role).isEmpty()) {
        broken.add(new Violation(name(), role.word(), "an empty list", "one worker or more", "add one"));
      }
    }
    return broken;
  }
}
