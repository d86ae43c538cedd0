package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Engine;
import java.util.List;

/**
 * MultiConnector wants one layout of all its children, word for word. NixlConnector asks for LBHNC, OrbitKV for none.
 * A layout in the environment comes before both, and then the roles may have different ones.
 *
 * <p>{@code multi_connector.py: get_required_kvcache_layout}, {@code nixl/connector.py} of vLLM 0.31.0.
 */
record LayoutOfTransport() implements Rule {

  private static final String LAYOUT = "LBHNC";
  private static final String VARIABLE = "VLLM_KV_CACHE_LAYOUT";

  @Override
  public String name() {
    return "layout-of-transport";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    if (composition.engine() != Engine.VLLM) {
      return List.of();
    }
    return composition.workers().stream()
        .filter(worker -> worker.variable(VARIABLE).filter(layout -> !layout.equals(LAYOUT)).isPresent())
        .map(worker -> new Violation(name(), VARIABLE + " of " + worker.title(),
            "'" + worker.variable(VARIABLE).orElseThrow() + "'",
            "'" + LAYOUT + "', which NixlConnector asks for, and which all children of a MultiConnector must agree on",
            "leave it out"))
        .toList();
  }
}
