package io.orbitkv.cli.replay;

import io.orbitkv.api.Lease;
import io.orbitkv.api.Session;

/** The ranks of the stand-in engine, wherever they run. Prompts are named by their number in the plan. */
interface EngineRanks extends AutoCloseable {

  /**
   * Has every rank restore its shards of a leased prefix and check them. Returns when all are done.
   *
   * @return whether every rank was granted its share; if not, the cache went between its answer and now
   */
  boolean restore(Session session, Lease lease, int request);

  /** Has every rank compute blocks and save its shards of them. Returns when all are done. */
  void computeAndSave(Session session, int request, int first, int end);

  @Override
  void close();
}
