package io.orbitkv.core.wire;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;

/**
 * What a member of an engine instance, or a tool, asks of a Manager. A connection has one request under way at a time
 * and gets one {@link Reply} to each, in order.
 *
 * <p>Requests that begin something carry the generation of the registration that they belong to: one of an earlier
 * registration is refused. Grants are ended by their own number, which no Manager gives twice in its life, and only by
 * the connection that they were given to.
 */
public sealed interface Request {

  /**
   * The first request of every connection.
   *
   * @param protocol version of the protocol, {@link Protocol#VERSION}
   * @param software name and version of the program, for messages and the log
   * @param pid process id in the sender's own pid namespace
   * @param pidNamespace inode of {@code /proc/self/ns/pid}, zero if unknown: only in the same namespace does the number
   *     name the process
   * @param probe {@link Protocol#probe()}: the hash of a fixed chain, which differs if the sender hashes otherwise
   */
  record Hello(int protocol, String software, long pid, long pidNamespace, Digest probe) implements Request {}

  /**
   * Joins an engine instance. The instance can be used when all of its ranks are in; one registration counts for one
   * generation of it.
   *
   * @param instance its name, 1 to 128 characters
   * @param incarnation a number that its members share and its next start has not, chosen at random by its launcher
   * @param namespace what its bytes mean
   * @param ranks how many ranks hold a shard of each block
   * @param shardBytes bytes of one rank's shard of one block
   * @param blockTokens tokens of one block, for figures in tokens; zero if not stated
   * @param member which part of it this connection is: a rank, {@link Protocol#SCHEDULER} or {@link
   *     Protocol#ALL_RANKS}
   */
  record Register(
      String instance, long incarnation, Digest namespace, int ranks, int shardBytes, int blockTokens, int member)
      implements Request {}

  /**
   * Asks for the longest stored prefix of a chain; asked again with the same id and chain, it polls. The chain of one
   * that was received is good until its {@link Connection} receives or sends something else.
   */
  record Query(long generation, long operation, int revision, PrefixChain chain) implements Request {}

  /** Asks how a query stands, without its chain. A hit is handed over by the first reply that has it. */
  record Poll(long generation, long operation, int revision) implements Request {}

  /** Drops the interest in a query. */
  record Cancel(long generation, long operation, int revision) implements Request {}

  /** Gives up the shares of a lease that no rank has taken. */
  record Release(long generation, long lease) implements Request {}

  /** Takes a rank's share of a lease. */
  record Restore(long generation, long lease, int rank) implements Request {}

  /** States that every copy of a restore is submitted. */
  record Enqueued(long grant) implements Request {}

  /** States that every copy of a restore is complete: it is retired. */
  record Drained(long grant) implements Request {}

  /** Asks for room to save the blocks from {@code from} to {@code to} of a chain, all computed. */
  record Reserve(long generation, int rank, PrefixChain chain, int from, int to) implements Request {}

  /**
   * Ends a save. Every copy of the holder is complete.
   *
   * @param grant the save
   * @param copied which of its blocks were copied, by position in the grant
   * @param crcs CRC-32C of each block's shard, by position in the grant; of a block that was not copied, anything
   */
  record Commit(long grant, boolean[] copied, int[] crcs) implements Request {}

  /** Ends a save without a result. Every copy of the holder is complete. */
  record Abort(long grant) implements Request {}

  /**
   * States that nothing granted to an earlier connection of the same process is in use any more: what was quarantined
   * when that connection broke is free again.
   *
   * @param member the number that {@link Reply.Registered} gave the earlier connection
   */
  record Settle(long member) implements Request {}

  /** Asks for counters and sizes. */
  record Stats() implements Request {}

  /** Waits until the blocks that are visible now are on the SSD, at most so many milliseconds, 0 to 1,000. */
  record Flush(int millis) implements Request {}

  /** Leaves the instance: ends this generation of it. Grants stay with the connection until it ends them. */
  record Leave(long generation) implements Request {}

  /**
   * Asks which blocks of the instance's namespace have left the cache.
   *
   * @param cursor of the last reply, or {@link io.orbitkv.api.Departures#NO_CURSOR}
   */
  record Follow(long generation, long cursor) implements Request {}
}
