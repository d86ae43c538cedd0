package io.orbitkv.api;

import java.time.Duration;

/** An OrbitKV cache: embedded in this process, or a node Manager's. Thread-safe. */
public interface Cache extends AutoCloseable {

  /**
   * Attaches an engine instance.
   *
   * @param spec what it is
   * @return its session
   * @throws RefusedException if the layout can never fit, or another layout is in use under the same namespace
   */
  Session attach(SessionSpec spec);

  /** Returns counters and sizes at this moment. */
  CacheStats stats();

  /**
   * Waits until every block that was visible when it was called is on the SSD or known to have failed. Returns at once
   * without an SSD tier.
   *
   * @param limit how long at most
   * @return whether all were written or settled in time
   * @throws InterruptedException if the thread was interrupted; writing goes on
   */
  boolean flush(Duration limit) throws InterruptedException;

  /**
   * Stops admitting, waits a bounded time for what is in flight, and gives back memory and files. Blocks that were
   * flushed are there at the next start. Idempotent.
   */
  @Override
  void close();
}
