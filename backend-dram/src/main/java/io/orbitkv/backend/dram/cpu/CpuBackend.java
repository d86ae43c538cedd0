package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceBackend;
import io.orbitkv.api.spi.DeviceOptions;
import java.util.Set;
import java.util.TreeSet;

/**
 * Copies by the processor. There is one such device, ordinal 0. Its one setting is {@code threads}, 1 to {@value
 * #MAX_THREADS}: how many threads copy; {@value #DEFAULT_THREADS} unless said otherwise.
 */
public final class CpuBackend implements DeviceBackend {

  private static final String THREADS = "threads";
  private static final int MAX_THREADS = 64;
  private static final int DEFAULT_THREADS = 2;

  /** Has no effect. */
  public CpuBackend() {}

  @Override
  public String name() {
    return "cpu";
  }

  @Override
  public Device open(DeviceOptions options) {
    Set<String> unknown = new TreeSet<>(options.settings().keySet());
    unknown.remove(THREADS);
    if (!unknown.isEmpty()) {
      throw new RefusedException("device cpu has the setting " + THREADS + " only, found " + unknown);
    }
    if (options.ordinal() != 0) {
      throw new UnavailableException("there is one device cpu, ordinal 0; asked for ordinal " + options.ordinal());
    }
    return new CpuDevice(threads(options.settings().get(THREADS)));
  }

  private static int threads(String setting) {
    if (setting == null) {
      return DEFAULT_THREADS;
    }
    try {
      int threads = Integer.parseInt(setting);
      if (threads >= 1 && threads <= MAX_THREADS) {
        return threads;
      }
    } catch (NumberFormatException e) {
      // Said below, as for a number that is out of range.
    }
    throw new RefusedException(
        "setting " + THREADS + " of device cpu is '" + setting + "', expected 1 to " + MAX_THREADS);
  }
}
