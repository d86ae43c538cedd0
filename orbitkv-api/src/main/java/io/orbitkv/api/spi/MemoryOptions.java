package io.orbitkv.api.spi;

import io.orbitkv.api.RefusedException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/**
 * How to open a memory pool.
 *
 * @param capacityBytes how much, for the whole node
 * @param runtimeDirectory a private folder for files that other processes of the same user map, and for the lock file
 *     of their owner
 * @param settings settings of the provider, by name; an unknown name is refused by it
 */
public record MemoryOptions(long capacityBytes, Path runtimeDirectory, Map<String, String> settings) {

  /** Copies the settings and checks the size. */
  public MemoryOptions {
    Objects.requireNonNull(runtimeDirectory, "runtimeDirectory");
    settings = Map.copyOf(settings);
    if (capacityBytes < 1) {
      throw new RefusedException("memory capacity is " + capacityBytes + " bytes, expected more than zero");
    }
  }
}
