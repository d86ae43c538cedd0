/** Host memory: the arenas blocks live in. */
module io.orbitkv.backend.dram {
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.HostMemory with
      io.orbitkv.backend.dram.arena.PrivateMemory,
      io.orbitkv.backend.dram.arena.SharedMemory;
}
