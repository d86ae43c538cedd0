package io.orbitkv.api.spi;

/** An engine's pages, known to one device. */
public interface EnginePages extends AutoCloseable {

  /** Returns where they lie. */
  PoolLayout layout();

  /** Forgets them. No transfer may be under way. */
  @Override
  void close();
}
