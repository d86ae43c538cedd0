package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the plan sets has one place in the file. A second one would win on the command line, unchecked. */
record PlannedSettings() implements Rule {

  private static final Map<String, String> ROUTER = Map.of("--host", "router.host", "--port", "router.port",
      "--prefill", "prefill", "--decode", "decode", "--worker-urls", "prefill and decode",
      "--vllm-pd-disaggregation", "engine", "--pd-disaggregation", "engine");

  @Override
  public String name() {
    return "planned-settings";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    Map<String, String> options = switch (composition.engine()) {
      case VLLM -> PlannedNames.VLLM_OPTIONS;
      case SGLANG -> PlannedNames.SGLANG_OPTIONS;
    };
    Map<String, String> variables = switch (composition.engine()) {
      case VLLM -> PlannedNames.VLLM_VARIABLES;
      case SGLANG -> PlannedNames.SGLANG_VARIABLES;
    };
    List<Violation> broken = new ArrayList<>();
    for (Worker worker : composition.workers()) {
      add(broken, worker.options().keySet(), options, worker.title());
      add(broken, worker.environment().keySet(), variables, worker.title());
    }
    add(broken, composition.router().options().keySet(), ROUTER, "the router");
    return broken;
  }

  private void add(List<Violation> broken, Set<String> names, Map<String, String> planned, String whose) {
    for (String name : names) {
      String place = planned.get(name);
      if (place != null) {
        broken.add(new Violation(name(), name + " of " + whose, "set by hand", "left to the plan",
            place.isEmpty() ? "take it out" : "take it out, and set " + place));
      }
    }
  }
}
