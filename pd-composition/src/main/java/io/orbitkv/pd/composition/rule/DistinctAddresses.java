package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Engine;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What listens on one host has a port of its own. A second process that finds the port of NIXL's side channel or of the
 * bootstrap server taken fails when it starts, or answers for the first.
 */
record DistinctAddresses() implements Rule {

  @Override
  public String name() {
    return "distinct-addresses";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    List<Violation> broken = new ArrayList<>();
    Map<String, String> owners = new HashMap<>();
    claim(owners, broken, composition.router().host(), composition.router().port(), "port of the router");
    for (Worker worker : composition.workers()) {
      claim(owners, broken, worker.host(), worker.port(), "port of " + worker.title());
      // Only prefill has a bootstrap server; NIXL listens in both roles.
      if (composition.engine() == Engine.VLLM || worker.role() == Role.PREFILL) {
        claim(owners, broken, worker.host(), worker.transferPort(), "transfer_port of " + worker.title());
      }
    }
    return broken;
  }

  private void claim(Map<String, String> owners, List<Violation> broken, String host, int port, String what) {
    String other = owners.putIfAbsent(host + ":" + port, what);
    if (other != null) {
      broken.add(new Violation(name(), what, Integer.toString(port), "one that nothing else of " + host + " has, but it"
          + " is the " + other, "set another"));
    }
  }
}
