package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Engine;
import io.orbitkv.pd.composition.Role;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The transport writes decode's pages itself. With {@code SGLANG_DISAGG_STAGING_BUFFER} of SGLang 0.5.22 decode copies
 * them from a buffer in between, after the transport has said that it has ended; the linker refuses to start.
 */
record UnstagedDelivery() implements Rule {

  private static final String VARIABLE = "SGLANG_DISAGG_STAGING_BUFFER";
  /** As the release reads a variable that is on or off. */
  private static final Set<String> OFF = Set.of("false", "0", "no", "n");

  @Override
  public String name() {
    return "unstaged-delivery";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    if (composition.engine() != Engine.SGLANG) {
      return List.of();
    }
    return composition.workers(Role.DECODE).stream()
        .filter(worker -> worker.mode() != CacheMode.OFF)
        .filter(worker -> worker.variable(VARIABLE).filter(value -> !OFF.contains(value.toLowerCase(Locale.ROOT)))
            .isPresent())
        .map(worker -> new Violation(name(), VARIABLE + " of " + worker.title(),
            "'" + worker.variable(VARIABLE).orElseThrow() + "'",
            "not to be on, since then pages are written after the transport has said that it has ended",
            "take it out"))
        .toList();
  }
}
