package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Worker;
import java.util.List;
import java.util.Set;

/**
 * A worker's host is what it tells the other role to connect to: {@code remote_host} of NIXL is
 * {@code VLLM_NIXL_SIDE_CHANNEL_HOST}, {@code localhost} by default, and SGLang's bootstrap server has the address of
 * its HTTP. On another host a loopback address is somebody else.
 */
record ReachableHosts() implements Rule {

  private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "::1", "0.0.0.0");

  @Override
  public String name() {
    return "reachable-hosts";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    long hosts = composition.workers().stream().map(Worker::host).distinct().count();
    return composition.workers().stream()
        .filter(worker -> worker.host().equals("0.0.0.0") || hosts > 1 && LOOPBACK.contains(worker.host()))
        .map(worker -> new Violation(name(), "host of " + worker.title(), "'" + worker.host() + "'",
            "an address at which workers on other hosts reach it", "set the address of its network interface"))
        .toList();
  }
}
