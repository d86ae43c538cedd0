package io.orbitkv.core.machine;

import io.orbitkv.core.lifecycle.LeaseState;
import java.util.BitSet;

/** A lease as the core keeps it: one hold on its deepest block, from which its ancestors follow. */
public final class CoreLease {

  final long id;
  final CoreSession session;
  final int row;
  final int blocks;
  final long bytes;
  final long deadline;
  final BitSet taken = new BitSet();
  int restores;
  /** Set when a caller fetched it: before that nobody can use it. */
  boolean handedOver;
  LeaseState state = LeaseState.HELD;

  CoreLease(long id, CoreSession session, int row, int blocks, long bytes, long deadline) {
    this.id = id;
    this.session = session;
    this.row = row;
    this.blocks = blocks;
    this.bytes = bytes;
    this.deadline = deadline;
  }

  /** Returns its number. */
  public long id() {
    return id;
  }

  /** Returns how many leading blocks it pins. */
  public int blocks() {
    return blocks;
  }

  /** Returns the bytes it is charged for. */
  public long bytes() {
    return bytes;
  }

  /** Returns where it is in its life. */
  public LeaseState state() {
    return state;
  }

  void on(LeaseState.Event event) {
    state = state.on(event);
  }
}
