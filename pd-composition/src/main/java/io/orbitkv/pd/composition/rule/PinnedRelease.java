package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Engine;
import java.util.List;

/**
 * Flags, defaults and hooks are those of one release; another may have turned one around, as SGLang did between 0.5.21
 * and 0.5.22 with the default of its deferred release.
 */
record PinnedRelease() implements Rule {

  @Override
  public String name() {
    return "pinned-release";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    Engine engine = composition.engine();
    return composition.release().equals(engine.pinnedRelease()) ? List.of() : List.of(new Violation(name(), "release",
        "'" + composition.release() + "'", "'" + engine.pinnedRelease() + "', the release of " + engine.word()
            + " whose contract was read", "install it, or leave the setting out"));
  }
}
