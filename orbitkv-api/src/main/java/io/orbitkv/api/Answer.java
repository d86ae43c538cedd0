package io.orbitkv.api;

/** The state of a query at the moment it was asked. Immutable. */
public sealed interface Answer {

  /** Returns whether no later poll of the same query can answer anything else. */
  default boolean isFinal() {
    return !(this instanceof Pending);
  }

  /**
   * Admitted; blocks are being read from the SSD.
   *
   * @param dramBlocks leading blocks already in memory
   * @param readingBlocks blocks behind them on their way from the SSD
   */
  record Pending(int dramBlocks, int readingBlocks) implements Answer {}

  /**
   * The leading blocks of the chain are in memory and stay there until the lease ends.
   *
   * @param lease holds the blocks; the caller owns it
   * @param dramBlocks how many of them were in memory when the query came
   * @param ssdBlocks how many were read from the SSD for it
   * @param ending why the hit is not longer
   */
  record Hit(Lease lease, int dramBlocks, int ssdBlocks, MissReason ending) implements Answer {
    /** Returns the number of leading blocks held. */
    public int blocks() {
      return dramBlocks + ssdBlocks;
    }
  }

  /**
   * No leading block can be served.
   *
   * @param reason why
   */
  record Miss(MissReason reason) implements Answer {}

  /**
   * Not admitted: a table or a byte budget is full at present. Nothing is reserved; ask again later or compute.
   *
   * @param bound the bound that was met and its limit, for a log line
   */
  record Busy(String bound) implements Answer {}

  /** The query was not polled before its deadline; what it had read stays in the cache. */
  record Expired() implements Answer {}

  /** The query was cancelled, replaced by a higher revision, or its session ended. */
  record Cancelled() implements Answer {}
}
