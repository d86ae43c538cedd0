package io.orbitkv.core.agent;

import io.orbitkv.api.spi.Device;
import java.nio.file.Path;
import java.util.Objects;

/**
 * What an agent works with. It owns none of it.
 *
 * @param socket where its engine finds it: a path in a folder of this user alone, which is made if it is missing
 * @param device copies between the engine's pages and the cache
 * @param cache where blocks are kept
 */
public record AgentOptions(Path socket, Device device, CacheLink cache) {

  /** Checks for null. */
  public AgentOptions {
    Objects.requireNonNull(socket, "socket");
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(cache, "cache");
  }
}
