package io.orbitkv.core.machine;

import io.orbitkv.api.Digest;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.lifecycle.TicketState;
import java.util.ArrayList;
import java.util.List;

/** A query as the core keeps it. */
public final class CoreTicket {

  final CoreSession session;
  final QueryId id;
  /** Blocks of the chain that it is for. */
  final int blocks;
  /** The chain's last hash, which names it whole: the chain itself may be gone when the turn of its submission ends. */
  private final Digest last;
  TicketState state = TicketState.SUBMITTED;
  MissReason ending = MissReason.NONE;
  /** Leading blocks that were in memory when the query came. */
  int inMemory;
  /** Leading blocks that it hopes for; shrinks when a read fails. */
  int hoped;
  /** Blocks that are not resident yet. */
  int missing;
  /** The row of the deepest block hoped for, held; none if nothing is hoped for. */
  int row = BlockTable.NONE;
  long charged;
  long deadline;
  CoreLease lease;
  String busy = "";
  private final List<Runnable> waiters = new ArrayList<>();

  CoreTicket(CoreSession session, QueryId id, PrefixChain chain) {
    this.session = session;
    this.id = id;
    this.blocks = chain.blocks();
    this.last = blocks == 0 ? Digest.ZERO : chain.hash(blocks - 1);
  }

  /** Returns whether it is for a chain. */
  public boolean isFor(PrefixChain chain) {
    return chain.blocks() == blocks && (blocks == 0 || chain.hash(blocks - 1).equals(last));
  }

  /** Returns its id. */
  public QueryId id() {
    return id;
  }

  /** Returns where it is in its life. */
  public TicketState state() {
    return state;
  }

  /** Returns how many leading blocks, of those that are or may be served, were in memory when the query came. */
  public int hitInMemory() {
    return Math.min(inMemory, hoped);
  }

  /** Returns how many blocks are not in memory yet. */
  public int missing() {
    return missing;
  }

  /** Returns whether it was answered without a lease. */
  public boolean isMiss() {
    return state == TicketState.DELIVERED && lease == null;
  }

  /** Returns why the hit is not longer. */
  public MissReason ending() {
    return ending;
  }

  /** Returns the bound that was met by a busy query. */
  public String busy() {
    return busy;
  }

  /**
   * Asks to be told when it is no longer pending; at once if it is not. The action runs in the core's turn and must only
   * wake a thread.
   */
  public void onAnswered(Runnable action) {
    if (state == TicketState.PENDING || state == TicketState.SUBMITTED) {
      waiters.add(action);
    } else {
      action.run();
    }
  }

  /** Takes back what {@link #onAnswered} was asked for. */
  public void forget(Runnable action) {
    waiters.remove(action);
  }

  void on(TicketState.Event event) {
    boolean wasOpen = state == TicketState.SUBMITTED || state == TicketState.PENDING;
    state = state.on(event);
    if (wasOpen && state != TicketState.PENDING) {
      waiters.forEach(Runnable::run);
      waiters.clear();
    }
  }
}
