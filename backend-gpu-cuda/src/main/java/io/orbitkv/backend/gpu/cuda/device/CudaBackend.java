package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceBackend;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.backend.gpu.cuda.driver.Driver;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;

/**
 * Copies by an NVIDIA GPU. The ordinal is CUDA's. {@code docs/cuda.md} has the settings, what they cost, and how an
 * engine states its memory.
 */
public final class CudaBackend implements DeviceBackend {

  /** Has no effect. */
  public CudaBackend() {}

  @Override
  public String name() {
    return "cuda";
  }

  @Override
  public Device open(DeviceOptions options) {
    Settings settings = Settings.of(options.settings());
    Gpu gpu = Driver.load(settings.driver()).open(options.ordinal());
    try {
      if (!gpu.facts().hostPointers()) {
        throw new UnavailableException("GPU " + options.ordinal() + " (" + gpu.facts()
            + ") has addresses of its own for pinned host memory; device cuda needs one that has not");
      }
      return new CudaDevice(gpu, settings, ProcessEnd.halting());
    } catch (UnavailableException | RefusedException e) {
      gpu.close();
      throw e;
    }
  }
}
