package io.orbitkv.api;

/**
 * Holds the exact stored bytes of a prefix in memory, from the answer until the last rank has drained its copy. Charged
 * against the byte budgets for all that time. Thread-safe.
 */
public interface Lease extends AutoCloseable {

  /** Returns the lease's number, unique in the cache's life. */
  long id();

  /** Returns how many leading blocks of the queried chain it holds. */
  int blocks();

  /** Returns the bytes it is charged for. */
  long bytes();

  /** Gives up the shares that no rank has taken. Restores that were granted keep theirs. Idempotent. */
  @Override
  void close();
}
