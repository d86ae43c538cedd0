package io.orbitkv.cli;

import io.orbitkv.api.spi.Device;
import io.orbitkv.core.agent.Agent;
import io.orbitkv.core.agent.AgentOptions;
import io.orbitkv.core.agent.CacheLink;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The agents of one worker's pools, on one device and one cache. Used by one thread. */
final class Agents implements AutoCloseable {

  private final List<Agent> started = new ArrayList<>();

  private Agents() {}

  /** Starts one at each socket, or none: what has been started is closed if the next one cannot be. */
  static Agents start(List<Path> sockets, Device device, CacheLink link) {
    Agents agents = new Agents();
    try {
      sockets.forEach(socket -> agents.started.add(Agent.start(new AgentOptions(socket, device, link))));
      return agents;
    } catch (RuntimeException e) {
      agents.close();
      throw e;
    }
  }

  /** Returns where they listen. */
  String describe() {
    return started.stream().map(agent -> agent.socket().toString()).collect(Collectors.joining(" and "));
  }

  @Override
  public void close() {
    started.reversed().forEach(Agent::close);
    started.clear();
  }
}
