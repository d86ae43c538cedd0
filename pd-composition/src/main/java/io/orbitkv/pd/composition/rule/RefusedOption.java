package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Engine;
import io.orbitkv.pd.composition.Role;
import java.util.List;
import java.util.Set;

/**
 * An option of an engine that does not go together with the cache or with the composition.
 *
 * @param name of the rule
 * @param engine whose option it is
 * @param roles whose workers may not have it
 * @param option the option
 * @param harmless values with which it does no harm
 * @param reason why not
 */
record RefusedOption(String name, Engine engine, Set<Role> roles, String option, Set<String> harmless, String reason)
    implements Rule {

  @Override
  public List<Violation> broken(Composition composition) {
    if (composition.engine() != engine) {
      return List.of();
    }
    return composition.workers().stream()
        .filter(worker -> roles.contains(worker.role()) && worker.mode() != CacheMode.OFF)
        .filter(worker -> worker.option(option).filter(value -> !harmless.contains(value)).isPresent())
        .map(worker -> new Violation(name, option + " of " + worker.title(),
            "'" + worker.option(option).orElseThrow() + "'", "not to be there, since " + reason, "take it out"))
        .toList();
  }
}
