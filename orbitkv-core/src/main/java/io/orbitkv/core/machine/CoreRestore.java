package io.orbitkv.core.machine;

import io.orbitkv.core.lifecycle.RestoreState;

/** One rank's right to read a leased prefix. */
public final class CoreRestore {

  final CoreLease lease;
  final int rank;
  final long[] shardsAt;
  RestoreState state = RestoreState.GRANTED;

  CoreRestore(CoreLease lease, int rank, long[] shardsAt) {
    this.lease = lease;
    this.rank = rank;
    this.shardsAt = shardsAt;
  }

  /** Returns how many leading blocks may be read. */
  public int blocks() {
    return shardsAt.length;
  }

  /** Returns the offset in memory of the rank's shard of a block. */
  public long shardAt(int block) {
    return shardsAt[block];
  }

  /** Returns the bytes of memory that its lease pins, which ranks that restore the same prefix share. */
  public long bytes() {
    return lease.bytes;
  }

  /** Returns where it is in its life. */
  public RestoreState state() {
    return state;
  }

  boolean isQuarantined() {
    return state == RestoreState.QUARANTINED;
  }

  void on(RestoreState.Event event) {
    state = state.on(event);
  }
}
