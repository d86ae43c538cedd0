package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceBackend;
import io.orbitkv.api.spi.DeviceOptions;

/** Copies by the processor. There is one such device, ordinal 0, and it has no settings. */
public final class CpuBackend implements DeviceBackend {

  /** Has no effect. */
  public CpuBackend() {}

  @Override
  public String name() {
    return "cpu";
  }

  @Override
  public Device open(DeviceOptions options) {
    if (!options.settings().isEmpty()) {
      throw new RefusedException("device cpu has no settings, found " + options.settings().keySet());
    }
    if (options.ordinal() != 0) {
      throw new UnavailableException("there is one device cpu, ordinal 0; asked for ordinal " + options.ordinal());
    }
    return new CpuDevice();
  }
}
