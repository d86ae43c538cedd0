package io.example.needy;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;

/** Memory that is never opened, since its module cannot be loaded. */
public final class NeedyMemory implements HostMemory {

  /** Has no effect. */
  public NeedyMemory() {}

  @Override
  public String name() {
    return "needy";
  }

  @Override
  public MemoryPool open(MemoryOptions options) {
    throw new UnavailableException("needy memory is never there");
  }
}
