package io.orbitkv.api;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.zip.CRC32C;

/**
 * One engine instance's attachment to a cache. Thread-safe; its ranks may use it from threads of their own.
 *
 * <p>The four operations in full are {@link #query}, {@link #restore}, {@link #reserve} and the grants they return. An
 * instance of one rank whose pages lie one behind another in memory can use {@link #load} and {@link #store}.
 */
public interface Session extends AutoCloseable {

  /** Returns what the instance stated. */
  SessionSpec spec();

  /**
   * Asks for the longest stored prefix of a chain, or polls a query asked before.
   *
   * @param id the operation and its revision
   * @param chain the prompt's block hashes
   * @return the ticket; a resident hit is answered by its first poll
   * @throws RefusedException if the id was used with another chain, or is older than one already used
   */
  Ticket query(QueryId id, PrefixChain chain);

  /**
   * Asks under the next unused operation id.
   *
   * @param chain the prompt's block hashes
   * @return the ticket
   */
  Ticket query(PrefixChain chain);

  /**
   * Takes a rank's share of a lease. Each rank can take its share once.
   *
   * @param lease a lease of this session
   * @param rank 0 to ranks - 1
   * @return the right to read
   * @throws RefusedException if the lease has ended, is another session's, or the rank has taken its share; the lease
   *     is unchanged
   */
  RestoreGrant restore(Lease lease, int rank);

  /**
   * Takes a rank's share of a lease by the lease's number: a rank in another process than the one that asked is told no
   * more of it. Otherwise as {@link #restore(Lease, int)}.
   *
   * @param lease the {@link Lease#id() number} of a lease of this instance
   * @param rank 0 to ranks - 1
   * @return the right to read
   * @throws RefusedException if there is no such lease, or it has ended, or the rank has taken its share
   */
  RestoreGrant restore(long lease, int rank);

  /**
   * Asks for room to save blocks of a chain, all of whose tokens the engine has confirmed computed.
   *
   * @param rank 0 to ranks - 1
   * @param chain the prompt's block hashes, at least to {@code toBlock}
   * @param fromBlock first block to save
   * @param toBlock one past the last block to save
   * @return the grant; it may want none of the blocks
   */
  SaveGrant reserve(int rank, PrefixChain chain, int fromBlock, int toBlock);

  /**
   * Tells which blocks of the session's namespace have left the cache, whoever had saved them. What is kept for that is
   * bounded: ask about as often as it shall be known.
   *
   * @param cursor of the last answer, or {@link Departures#NO_CURSOR}
   * @return those since then; while the cache is out of reach, none, and the same cursor
   */
  Departures departures(long cursor);

  /**
   * Restores the longest stored prefix into memory, for an instance of one rank.
   *
   * @param chain the prompt's block hashes
   * @param target room for the chain's blocks, one behind another
   * @param limit how long to wait for the SSD
   * @return how many leading blocks were restored, zero if none is stored or the limit passed
   * @throws InterruptedException if the thread was interrupted while it waited; nothing was written
   */
  default int load(PrefixChain chain, MemorySegment target, Duration limit) throws InterruptedException {
    int shardBytes = requireSingleRank();
    Ticket ticket = query(chain);
    if (!(ticket.await(limit) instanceof Answer.Hit hit)) {
      ticket.cancel();
      return 0;
    }
    try (Lease lease = hit.lease(); RestoreGrant grant = restore(lease, 0)) {
      for (int block = 0; block < grant.blocks(); block++) {
        MemorySegment.copy(grant.shard(block), 0, target, (long) block * shardBytes, shardBytes);
      }
      return grant.blocks();
    }
  }

  /**
   * Saves the blocks of a chain that are not stored yet, for an instance of one rank.
   *
   * @param chain the prompt's block hashes
   * @param fromBlock first block to save
   * @param source the bytes of the chain's blocks from block 0 on, one behind another
   * @return how many blocks were committed
   */
  default int store(PrefixChain chain, int fromBlock, MemorySegment source) {
    int shardBytes = requireSingleRank();
    try (SaveGrant grant = reserve(0, chain, fromBlock, chain.blocks())) {
      CRC32C crc = new CRC32C();
      for (int block = fromBlock; block < chain.blocks(); block++) {
        if (grant.wants(block)) {
          MemorySegment bytes = source.asSlice((long) block * shardBytes, shardBytes);
          grant.shard(block).copyFrom(bytes);
          crc.reset();
          ByteBuffer view = bytes.asByteBuffer();
          crc.update(view);
          grant.copied(block, (int) crc.getValue());
        }
      }
      return grant.commit();
    }
  }

  /** Ends the session: its tickets are cancelled and its untaken leases released; grants stay with their holders. */
  @Override
  void close();

  private int requireSingleRank() {
    ShardLayout layout = spec().layout();
    if (layout.ranks() != 1) {
      throw new RefusedException("instance '" + spec().instance() + "' has " + layout.ranks()
          + " ranks; load and store serve one rank, use query, restore and reserve");
    }
    return layout.shardBytes();
  }
}
