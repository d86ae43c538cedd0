/** A plugin whose library was forgotten. */
module io.example.needy {
  requires io.example.absent;
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.HostMemory with io.example.needy.NeedyMemory;
}
