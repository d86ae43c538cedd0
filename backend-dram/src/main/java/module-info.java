/** Host memory: the arenas blocks live in, the order in which they leave, and copies between host memory and pages. */
module io.orbitkv.backend.dram {
  requires com.github.benmanes.caffeine;
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.DeviceBackend with
      io.orbitkv.backend.dram.cpu.CpuBackend;
  provides io.orbitkv.api.spi.HostMemory with
      io.orbitkv.backend.dram.arena.PrivateMemory,
      io.orbitkv.backend.dram.arena.SharedMemory;
  provides io.orbitkv.api.spi.ResidencyPolicy with
      io.orbitkv.backend.dram.residency.HitDensityPolicy,
      io.orbitkv.backend.dram.residency.LruPolicy,
      io.orbitkv.backend.dram.residency.TinyLfuPolicy;
}
