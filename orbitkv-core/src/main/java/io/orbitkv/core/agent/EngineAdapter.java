package io.orbitkv.core.agent;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;

/**
 * Translates one released engine's contract: what its scheduler asks becomes queries of a cache, and orders to the
 * engine's workers. Found by {@link java.util.ServiceLoader}, and selected by name with {@link
 * io.orbitkv.core.Backends#adapter}. Loading, naming or listing an adapter opens nothing; {@link #open} does.
 *
 * <p>One process of an engine instance, the one with the agent of rank 0, opens the adapter, beside its {@link Agent}:
 *
 * <pre>{@code
 * EngineAdapter adapter = backends.adapter("NAME");
 * try (Agent agent = Agent.start(new AgentOptions(folder.resolve("rank0.sock"), device, link));
 *     SchedulerEndpoint endpoint = adapter.open(
 *         new AdapterOptions(folder.resolve("scheduler.sock"), link, stateFolder))) {
 *   ... until the engine ends
 * }
 * }</pre>
 */
public interface EngineAdapter {

  /** Returns the engine's name in lower case. */
  String name();

  /**
   * Listens for the engine's scheduler. Returns before anybody has connected, and whether or not there is a cache: the
   * link is asked for one when the scheduler has said who it is, and again while there is none.
   *
   * @param options what it works with; all of it must outlive the endpoint
   * @return the endpoint, owned by the caller
   * @throws RefusedException if the socket's place is not private or its path too long
   * @throws UnavailableException if the socket or the state folder cannot be made, or another process has the socket
   */
  SchedulerEndpoint open(AdapterOptions options);
}
