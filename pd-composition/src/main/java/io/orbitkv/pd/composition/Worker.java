package io.orbitkv.pd.composition;

import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * One engine: its process, or its processes if it has several ranks, on one host.
 *
 * @param name differs from all others' names
 * @param role prefill or decode
 * @param host where others reach it
 * @param port of its HTTP
 * @param transferPort where the other role's workers find it: the side channel of NIXL, or the bootstrap server of
 *     SGLang's prefill
 * @param ranks of tensor parallelism, at least 1
 * @param mode what it does with the cache
 * @param manager socket of the Manager of its host; without one the engine's agent hosts one of its own
 * @param managerHttp where that Manager answers HTTP, for checks
 * @param scope part of the namespace: workers with another share nothing
 * @param options more of its command line, by name; empty for a switch
 * @param environment more of its environment
 */
public record Worker(
    String name, Role role, String host, int port, int transferPort, int ranks, CacheMode mode, Optional<Path> manager,
    Optional<URI> managerHttp, String scope, Map<String, String> options, Map<String, String> environment) {

  /** Copies the maps. */
  public Worker {
    options = Maps.copy(options);
    environment = Maps.copy(environment);
  }

  /** Returns it as messages name it. */
  public String title() {
    return role.word() + " '" + name + "'";
  }

  /** Returns where it answers HTTP. */
  public URI http() {
    return URI.create("http://" + host + ":" + port);
  }

  /** Returns an option's value, without what only says that it is a switch. */
  public Optional<String> option(String option) {
    return Optional.ofNullable(options.get(option));
  }

  /** Returns the value of a variable. */
  public Optional<String> variable(String variable) {
    return Optional.ofNullable(environment.get(variable));
  }

  /** Returns whether both use the Manager of one host. */
  public boolean sharesManagerWith(Worker other) {
    return manager.isPresent() && manager.equals(other.manager) && host.equals(other.host);
  }
}
