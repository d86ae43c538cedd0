package io.orbitkv.api.spi;

/** Provides the memory that blocks live in. */
public interface HostMemory {

  /** Returns the name under which it is selected, as "shared". */
  String name();

  /**
   * Reserves memory.
   *
   * @param options how much and where
   * @return the pool, owned by the caller
   * @throws io.orbitkv.api.RefusedException if a setting is wrong
   * @throws io.orbitkv.api.UnavailableException if the memory does not fit; the message has the numbers
   */
  MemoryPool open(MemoryOptions options);
}
