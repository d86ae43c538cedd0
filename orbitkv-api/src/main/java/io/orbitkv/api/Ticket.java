package io.orbitkv.api;

import java.time.Duration;

/**
 * A submitted query. Thread-safe.
 *
 * <p>A {@link Answer.Hit} is handed out once: the caller that receives it owns its lease. Later polls answer
 * {@link Answer.Cancelled}, since the ticket has ended.
 */
public interface Ticket {

  /** Returns the query's id. */
  QueryId id();

  /** Returns the answer so far, at once. A resident hit is there at the first poll. */
  Answer poll();

  /**
   * Waits for a final answer.
   *
   * @param limit how long at most
   * @return the final answer, or {@link Answer.Pending} if the limit passed first
   * @throws InterruptedException if the thread was interrupted; the query goes on
   */
  Answer await(Duration limit) throws InterruptedException;

  /** Drops the interest. Reads that were submitted run to their end; their bytes stay in the cache. */
  void cancel();
}
