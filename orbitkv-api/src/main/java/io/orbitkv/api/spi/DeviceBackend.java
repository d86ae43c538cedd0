package io.orbitkv.api.spi;

/** Provides copies between an engine's pages and blocks in host memory. */
public interface DeviceBackend {

  /** Returns the name under which it is selected, as "cpu". */
  String name();

  /**
   * Opens the device.
   *
   * @param options which one and how
   * @return the device, owned by the caller
   * @throws io.orbitkv.api.UnavailableException if the machine does not have it
   */
  Device open(DeviceOptions options);
}
