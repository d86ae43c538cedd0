package io.orbitkv.core.agent;

import java.nio.file.Path;
import java.util.Objects;

/**
 * What an engine adapter works with. It owns none of it.
 *
 * @param socket where the engine's scheduler finds it: a path in a folder of this user alone, which is made if it is
 *     missing
 * @param cache where blocks are kept; the adapter attaches the instance's scheduler to it, and nothing else
 * @param state a folder for what is worth keeping from one start to the next, such as digests of a model's files; made
 *     if it is missing. Losing it costs time, nothing else
 */
public record AdapterOptions(Path socket, CacheLink cache, Path state) {

  /** Checks for null. */
  public AdapterOptions {
    Objects.requireNonNull(socket, "socket");
    Objects.requireNonNull(cache, "cache");
    Objects.requireNonNull(state, "state");
  }
}
