package io.orbitkv.core.machine;

import io.orbitkv.core.block.RowList;
import io.orbitkv.core.lifecycle.SegmentState;

/** One segment of the store: what lives in it and what is in flight in it. */
final class Segment {

  final int index;
  /** The rows whose extents are here, except those being carried over. */
  final RowList rows;
  SegmentState state = SegmentState.FREE;
  /** Counts activations of all segments; the lowest of the full ones is the oldest. */
  long age;
  long liveBytes;
  /** Where the next extent would begin, in bytes: what is before it was handed out. */
  long filledBytes;
  /** Transfers of extents here that were submitted and have not completed: proof that it may be emptied is zero. */
  int inFlight;

  Segment(int index, RowList rows) {
    this.index = index;
    this.rows = rows;
  }

  void on(SegmentState.Event event) {
    state = state.on(event);
  }
}
