package io.orbitkv.core.agent;

import io.orbitkv.api.spi.Transfer;

/**
 * Copies of one load or save, and the grant that they work under. Started on the connection's thread; ended, with its
 * grant, on the thread that waits for its copies.
 */
abstract sealed class EngineTransfer permits EngineLoad, EngineSave {

  private final long number;
  final Transfer copies;
  private TransferState state = TransferState.COPYING;
  private int blocks;

  EngineTransfer(long number, Transfer copies) {
    this.number = number;
    this.copies = copies;
  }

  final long number() {
    return number;
  }

  /** Waits until no copy runs, and ends the grant. Never throws: a fault of the cache is no fault of the transfer. */
  abstract void end(FaultLog faults, Runnable drained);

  /** States that the copies are drained, and what they brought. */
  final synchronized void drained(int blocks) {
    this.blocks = blocks;
    state = state.on(TransferState.Event.DRAIN);
  }

  final synchronized void cancel() {
    state = state.on(TransferState.Event.CANCEL);
  }

  final synchronized void reported() {
    state = state.on(TransferState.Event.REPORT);
  }

  /** Returns whether the engine still wants what the copies bring. */
  final synchronized boolean wanted() {
    return state != TransferState.UNWANTED;
  }

  /** Returns what the copies brought, in blocks. */
  final synchronized int blocks() {
    return blocks;
  }
}
