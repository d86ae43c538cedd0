package io.example.held;

import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceBackend;
import io.orbitkv.api.spi.DeviceOptions;
import java.nio.file.Path;

/** Copies as the CPU does, and stops in the middle of each transfer while the file that {@code gate} names exists. */
public final class HeldBackend implements DeviceBackend {

  @Override
  public String name() {
    return "held";
  }

  @Override
  public Device open(DeviceOptions options) {
    return new HeldDevice(Path.of(options.settings().get("gate")));
  }
}
