package io.orbitkv.core.agent;

import io.orbitkv.core.wire.Reply;

/** An agent's answer to one {@link AgentRequest}. */
sealed interface AgentReply {

  /** Where a layer of a load is. */
  enum LayerStanding {
    /** Copies of it are under way. */
    COPYING,
    /** It is in every page. */
    READY,
    /** It will not arrive. */
    FAILED
  }

  /**
   * Answers {@link AgentRequest.Hello}: no copy for an earlier connection is under way any more.
   *
   * @param protocol version of the protocol
   * @param software name and version of the agent
   * @param pid the agent's process id in its own pid namespace
   */
  record Welcome(int protocol, String software, long pid) implements AgentReply {}

  /** Says why a request was not carried out, in one line for a log. Nothing was copied. */
  record Refused(Reply.Refusal refusal, String message) implements AgentReply {}

  /**
   * Answers {@link AgentRequest.Open}.
   *
   * @param attached whether there is a cache now; the agent goes on trying
   */
  record Opened(boolean attached) implements AgentReply {}

  /**
   * Answers {@link AgentRequest.Query} and {@link AgentRequest.Poll}.
   *
   * @param standing how it stands
   * @param lease with a hit the lease's number, else zero
   * @param dramBlocks leading blocks that were in memory
   * @param ssdBlocks blocks behind them that were, or when pending are being, read from the SSD
   * @param reason why the hit is not longer, the miss, or the bound that was met; empty when pending
   */
  record Answered(Reply.Standing standing, long lease, int dramBlocks, int ssdBlocks, String reason)
      implements AgentReply {}

  /**
   * Answers {@link AgentRequest.Load} and {@link AgentRequest.Save}.
   *
   * @param transfer its number, to be reported by {@link Finished}; zero if nothing is copied and nothing will be
   *     reported
   * @param blocks how many blocks are copied
   */
  record Started(long transfer, int blocks) implements AgentReply {}

  /** Answers {@link AgentRequest.LayerReady}. */
  record Layer(LayerStanding standing) implements AgentReply {}

  /**
   * Answers {@link AgentRequest.Progress}. Each transfer is reported once; from then on its pages are the engine's.
   *
   * @param transfers their numbers
   * @param loads which of them are loads
   * @param blocks of a load, how many of its leading blocks are in their pages: all behind them are not, and must be
   *     computed; of a save, how many blocks this rank committed
   */
  record Finished(long[] transfers, boolean[] loads, int[] blocks) implements AgentReply {}

  /** It was carried out. */
  record Done() implements AgentReply {}
}
