package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Role;
import java.util.List;

/** Prefill is where a restored prefix is not computed. One that only restores or only saves is not of this profile. */
record PrefillReadsAndWrites() implements Rule {

  @Override
  public String name() {
    return "prefill-reads-and-writes";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.workers(Role.PREFILL).stream()
        .filter(worker -> worker.mode() != CacheMode.READ_WRITE)
        .map(worker -> new Violation(name(), "cache of " + worker.title(), "'" + worker.mode().word() + "'",
            "'read-write', since prefill is where a restored prefix saves work",
            "leave it out, or start the engine without OrbitKV"))
        .toList();
  }
}
