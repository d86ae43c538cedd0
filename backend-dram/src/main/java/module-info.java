/** Host memory: the arenas blocks live in, and copies between host memory and pages. */
module io.orbitkv.backend.dram {
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.DeviceBackend with
      io.orbitkv.backend.dram.cpu.CpuBackend;
  provides io.orbitkv.api.spi.HostMemory with
      io.orbitkv.backend.dram.arena.PrivateMemory,
      io.orbitkv.backend.dram.arena.SharedMemory;
}
