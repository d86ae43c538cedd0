package io.orbitkv.api.spi;

import java.util.Map;

/**
 * How to open a device.
 *
 * @param ordinal which one of its kind, 0 and up
 * @param settings settings of the backend, by name; an unknown name is refused by it
 */
public record DeviceOptions(int ordinal, Map<String, String> settings) {

  /** Copies the settings. */
  public DeviceOptions {
    settings = Map.copyOf(settings);
  }
}
