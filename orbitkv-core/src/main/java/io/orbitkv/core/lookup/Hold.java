package io.orbitkv.core.lookup;

/** Leading blocks of a chain, in memory until they are released. Thread-safe. */
public interface Hold {

  /** Returns the number of their lease, by which workers load. */
  long lease();

  /** Returns how many blocks they are, at least one. */
  int blocks();

  /** Gives up what no worker has taken. Returns at once. Idempotent. */
  void release();
}
