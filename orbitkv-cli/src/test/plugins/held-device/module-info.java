/** A device whose copies can be held in their middle, for tests of what happens then. */
module io.example.held {
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.DeviceBackend with io.example.held.HeldBackend;
}
