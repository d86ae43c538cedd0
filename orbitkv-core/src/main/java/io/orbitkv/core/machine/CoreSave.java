package io.orbitkv.core.machine;

import io.orbitkv.api.RefusedException;
import io.orbitkv.core.lifecycle.SaveState;

/** One rank's right to write its shards of some blocks. */
public final class CoreSave {

  final CoreSession session;
  final int rank;
  private final int first;
  private final int wanted;
  private final boolean[] stored;
  /** A fill for each block asked for, null where the block is not wanted. */
  final Arrivals.Fill[] fills;
  SaveState state = SaveState.GRANTED;

  CoreSave(CoreSession session, int rank, int first, Arrivals.Fill[] fills, boolean[] stored) {
    this.session = session;
    this.rank = rank;
    this.first = first;
    this.fills = fills;
    this.stored = stored;
    int count = 0;
    for (Arrivals.Fill fill : fills) {
      count += fill == null ? 0 : 1;
    }
    this.wanted = count;
  }

  /** Returns the index in the chain of the first block asked for. */
  public int first() {
    return first;
  }

  /** Returns how many blocks were asked for. */
  public int blocks() {
    return fills.length;
  }

  /** Returns how many blocks are wanted. */
  public int wanted() {
    return wanted;
  }

  /** Returns how many of the blocks are stored already. */
  public int stored() {
    int count = 0;
    for (boolean is : stored) {
      count += is ? 1 : 0;
    }
    return count;
  }

  /** Returns whether a block is stored already, for everybody to find. */
  public boolean isStored(int block) {
    return block >= first && block - first < stored.length && stored[block - first];
  }

  /** Returns the bytes of memory of the wanted blocks, which ranks that save the same blocks share. */
  public long bytes() {
    return wanted * session.scope.recordBytes();
  }

  /** Returns whether a block is wanted. */
  public boolean wants(int block) {
    return block >= first && block - first < fills.length && fills[block - first] != null;
  }

  /**
   * Returns the offset in memory of the rank's shard of a wanted block.
   *
   * @throws RefusedException if it is not wanted
   */
  public long shardAt(int block) {
    if (!wants(block)) {
      throw new RefusedException("block " + block + " is not wanted by this grant of " + fills.length
          + " blocks from " + first + "; ask wants(block) first");
    }
    Arrivals.Fill fill = fills[block - first];
    return fill.memoryAt + session.payloadAt() + (long) rank * fill.scope.layout().shardBytes();
  }

  /** Returns where it is in its life. */
  public SaveState state() {
    return state;
  }

  boolean isQuarantined() {
    return state == SaveState.QUARANTINED;
  }

  void on(SaveState.Event event) {
    state = state.on(event);
  }
}
