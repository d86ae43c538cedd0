package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Role;
import java.util.List;

/**
 * The transport is the only writer of pages that decode receives. A restore into them would be a second one, and which
 * of the two wins decides what the request reads.
 */
record DecodeRestoresNothing() implements Rule {

  @Override
  public String name() {
    return "decode-restores-nothing";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.workers(Role.DECODE).stream()
        .filter(worker -> worker.mode().reads())
        .map(worker -> new Violation(name(), "cache of " + worker.title(), "'" + worker.mode().word() + "'",
            "'save' or 'off', since the transport alone writes the pages that decode receives",
            "set it to 'save', or leave it out"))
        .toList();
  }
}
