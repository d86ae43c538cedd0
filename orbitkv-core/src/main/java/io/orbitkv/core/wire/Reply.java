package io.orbitkv.core.wire;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;

/** A Manager's answer to one {@link Request}. */
public sealed interface Reply {

  /** Why a request was not carried out. The sender's state is unchanged. */
  enum Refusal {
    /** The request breaks a rule; the same request will be refused again. */
    REFUSED,
    /** The Manager lacks something at present. */
    UNAVAILABLE,
    /** What it is about has ended. */
    CLOSED,
    /** It belongs to a registration that another has replaced, or that lost a member: register again. */
    SUPERSEDED;

    /** Returns how an error is told to whoever asked for what led to it. */
    public static Refusal of(OrbitKvException error) {
      return switch (error) {
        case RefusedException _ -> REFUSED;
        case UnavailableException _ -> UNAVAILABLE;
        default -> CLOSED;
      };
    }
  }

  /** How a query stands, as {@link io.orbitkv.api.Answer} has it. */
  enum Standing {
    PENDING,
    HIT,
    MISS,
    BUSY,
    EXPIRED,
    CANCELLED
  }

  /**
   * Answers {@link Request.Hello}.
   *
   * @param protocol version of the protocol
   * @param software name and version of the Manager
   * @param incarnation a number that differs from the Manager's earlier and later starts
   * @param arena name of the file with the blocks, in the folder that the socket lies in
   * @param arenaBytes its length in bytes
   */
  record Welcome(int protocol, String software, long incarnation, String arena, long arenaBytes) implements Reply {}

  /** Says why a request was not carried out, in one line for a log. */
  record Refused(Refusal refusal, String message) implements Reply {}

  /**
   * Answers {@link Request.Register}.
   *
   * @param generation of the registration, for later requests
   * @param member this connection's number, for {@link Request.Settle}
   * @param witness name of a file in the folder that the socket lies in: the sender keeps it locked while it lives, so
   *     that its death is seen also where its process is not; see docs/wire.md
   * @param missing how many ranks are not in yet
   */
  record Registered(long generation, long member, String witness, int missing) implements Reply {}

  /**
   * Answers {@link Request.Query} and {@link Request.Poll}.
   *
   * @param standing how it stands
   * @param lease with a hit the lease's number, else zero
   * @param bytes with a hit what the lease is charged, else zero
   * @param dramBlocks leading blocks that were in memory
   * @param ssdBlocks blocks behind them that were, or when pending are being, read from the SSD
   * @param reason name of a {@link io.orbitkv.api.MissReason}, why it is not longer; empty when pending
   * @param bound when busy, the bound that was met; else empty
   */
  record Answered(
      Standing standing, long lease, long bytes, int dramBlocks, int ssdBlocks, String reason, String bound)
      implements Reply {}

  /**
   * Answers {@link Request.Restore} and {@link Request.Reserve}.
   *
   * @param grant its number; zero for a save that wants nothing and has nothing to end
   * @param shardsAt where in the arena each block's shard lies, in bytes, in the order of the chain; {@link
   *     Protocol#UNWANTED} or {@link Protocol#STORED} for a block that need not be saved
   */
  record Granted(long grant, long[] shardsAt) implements Reply {}

  /** Answers {@link Request.Commit}: how many blocks this rank committed. */
  record Committed(int blocks) implements Reply {}

  /** Answers {@link Request.Flush}: whether everything was written. */
  record Flushed(boolean all) implements Reply {}

  /** Answers {@link Request.Stats}. */
  record Statistics(CacheStats stats) implements Reply {}

  /** It was carried out. */
  record Done() implements Reply {}

  /**
   * Answers {@link Request.Follow}.
   *
   * @param cursor for the next question
   * @param all whether every block has to be taken for gone
   * @param blocks those that have left, each by its hash; they are no chain
   */
  record Departed(long cursor, boolean all, PrefixChain blocks) implements Reply {}
}
