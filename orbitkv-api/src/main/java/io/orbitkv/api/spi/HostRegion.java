package io.orbitkv.api.spi;

/** Host memory that a device was told of. */
@FunctionalInterface
public interface HostRegion extends AutoCloseable {

  /** Gives the memory up, before it is unmapped. Waits for what is being prepared. */
  @Override
  void close();
}
