package io.orbitkv.core.agent;

import java.nio.file.Path;

/** Where an engine's scheduler finds its adapter. Thread-safe. */
public interface SchedulerEndpoint extends AutoCloseable {

  /** Returns where it listens. */
  Path socket();

  /**
   * Takes no more requests, gives up every lease that no worker has taken, and leaves the cache. Orders that workers
   * have are theirs and go on. Waits for no copy. Idempotent.
   */
  @Override
  void close();
}
