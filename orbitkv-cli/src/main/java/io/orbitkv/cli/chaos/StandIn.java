package io.orbitkv.cli.chaos;

/** An engine that computes nothing, and goes on whatever happens to its cache. Used by one thread. */
public sealed interface StandIn permits EngineStandIn, RankedStandIn {

  /** Serves one prompt: restores what is stored of it, computes the rest and saves that. */
  void serve() throws InterruptedException;

  /** Returns what was done, with the longest request since the last call of {@link #forgetLongest}. */
  StandInReport report();

  /** Begins to look for the longest request anew. */
  void forgetLongest();
}
