package io.orbitkv.api.spi;

import io.orbitkv.api.RefusedException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/**
 * How to open a store.
 *
 * @param directory its folder, owned by one process at a time
 * @param capacityBytes the most bytes of disk that all files in the folder use at any moment
 * @param settings settings of the backend, by name; an unknown name is refused by it
 */
public record StoreOptions(Path directory, long capacityBytes, Map<String, String> settings) {

  /** Copies the settings and checks the size. */
  public StoreOptions {
    Objects.requireNonNull(directory, "directory");
    settings = Map.copyOf(settings);
    if (capacityBytes < 1) {
      throw new RefusedException("store capacity is " + capacityBytes + " bytes, expected more than zero");
    }
  }
}
