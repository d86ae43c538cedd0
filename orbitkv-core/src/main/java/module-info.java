/** The cache itself: its state machines, the turns in which they run, and the embedded cache. */
module io.orbitkv.core {
  requires transitive io.orbitkv.api;
  requires jdk.net;

  exports io.orbitkv.core;
  exports io.orbitkv.core.client;
  exports io.orbitkv.core.manager;

  uses io.orbitkv.api.spi.DeviceBackend;
  uses io.orbitkv.api.spi.HostMemory;
  uses io.orbitkv.api.spi.ResidencyPolicy;
  uses io.orbitkv.api.spi.StorageBackend;
}
