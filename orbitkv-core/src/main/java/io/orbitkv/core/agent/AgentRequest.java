package io.orbitkv.core.agent;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.PoolLayout;

/**
 * What an engine worker asks of its agent. A connection has one request under way at a time and gets one {@link
 * AgentReply} to each, in order. Copies go on between requests.
 */
sealed interface AgentRequest {

  /**
   * The first request of every connection. Its answer comes when every copy for an earlier connection is drained.
   *
   * @param protocol version of the protocol, {@link AgentProtocol#VERSION}
   * @param software name and version of the engine's side, for messages
   * @param probe {@link io.orbitkv.core.wire.Protocol#probe()}: the hash of a fixed chain
   */
  record Hello(int protocol, String software, Digest probe) implements AgentRequest {}

  /**
   * States who the engine is and where its pages lie. Once a connection.
   *
   * @param instance its name, 1 to 128 characters
   * @param incarnation a number that all members of the instance share and its next start has not
   * @param namespace what its bytes mean
   * @param rank this worker's rank, 0 to ranks - 1
   * @param ranks how many ranks hold a shard of each block
   * @param whole whether this worker is the instance's scheduler too, which needs an instance of one rank: then it may
   *     ask queries, else the instance's scheduler asks them of the Manager
   * @param blockTokens tokens of one block, for counting only; zero if not stated
   * @param layout where its pages lie
   * @param memory absolute path of the file with its pool, which holds one start's pages: the next start makes another
   */
  record Open(String instance, long incarnation, Digest namespace, int rank, int ranks, boolean whole, int blockTokens,
      PoolLayout layout, String memory) implements AgentRequest {}

  /** Asks for the longest stored prefix of a chain; asked again with the same id and chain, it polls. */
  record Query(long operation, int revision, PrefixChain chain) implements AgentRequest {}

  /** Asks how a query stands, without its chain. A hit is handed over by the first reply that has it. */
  record Poll(long operation, int revision) implements AgentRequest {}

  /** Drops the interest in a query. */
  record CancelQuery(long operation, int revision) implements AgentRequest {}

  /** Gives up a lease that this connection was answered. Loads that were started keep their share. */
  record Release(long lease) implements AgentRequest {}

  /**
   * Starts to copy blocks of a leased prefix into pages.
   *
   * @param lease its number, from this agent's or from a Manager's answer
   * @param firstBlock index in the chain of the first block to copy
   * @param pages one page a block, all different; the agent writes to them until it reports the load
   * @param mark what the engine's streams wait for ({@link io.orbitkv.api.spi.Device}); 0 if none does
   */
  record Load(long lease, int firstBlock, int[] pages, int mark) implements AgentRequest {}

  /**
   * Starts to copy those blocks out of pages that the cache wants.
   *
   * @param series which chain it continues, a number that the engine gives to one request; 0 for none
   * @param known how many hashes of the series were stated by earlier saves and are taken over; 0 to begin it anew
   * @param chain the block hashes behind those, at least to the last of these blocks
   * @param firstBlock index in the whole chain of the first block, all of whose tokens are confirmed computed
   * @param pages one page a block; they stay as they are until the agent reports the save
   */
  record Save(long series, int known, PrefixChain chain, int firstBlock, int[] pages) implements AgentRequest {}

  /**
   * Asks whether a layer of a load has arrived in every page.
   *
   * @param transfer the load
   * @param layer 0 and up, through all groups of the pool
   * @param millis how long to wait for it, 0 to {@link AgentProtocol#MAX_WAIT_MILLIS}
   */
  record LayerReady(long transfer, int layer, int millis) implements AgentRequest {}

  /**
   * Takes the reports of transfers that are drained.
   *
   * @param millis how long to wait for the first, 0 to {@link AgentProtocol#MAX_WAIT_MILLIS}
   */
  record Progress(int millis) implements AgentRequest {}

  /** Drops the interest in a transfer. Its copies go on, and it is reported when they are drained, as failed. */
  record Cancel(long transfer) implements AgentRequest {}

  /** Ends the connection in order: the answer comes when every copy is drained and every grant has ended. */
  record Close() implements AgentRequest {}

  /** States that no save of a series follows. */
  record Forget(long series) implements AgentRequest {}
}
