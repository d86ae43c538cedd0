package io.orbitkv.backend.iouring.store;

/**
 * What is known of a segment in service. Three owners: the cursor and the number of placed records belong to the core's
 * thread; the entries and the writes in flight to the driver; the phase and the generation are written by whichever of
 * them the life of the segment gives the turn, and read by both.
 */
final class Segment {

  final int index;

  private volatile SegmentPhase phase = SegmentPhase.EMPTY;
  private volatile long generation;

  // The core's.
  private long cursor;
  private int placed;

  // The driver's.
  final Summary.Entries entries = new Summary.Entries();
  int writesInFlight;
  Seal waitingSeal;

  Segment(int index) {
    this.index = index;
  }

  SegmentPhase phase() {
    return phase;
  }

  long generation() {
    return generation;
  }

  void on(SegmentPhase.Event event) {
    phase = phase.on(event, index);
  }

  /** Takes over what recovery found. */
  void recovered(SegmentPhase found, long foundGeneration) {
    phase = found;
    generation = foundGeneration;
  }

  /** Starts a new generation. The driver forgets the old entries when the activation reaches it. */
  void activate(long newGeneration) {
    on(SegmentPhase.Event.ACTIVATE);
    generation = newGeneration;
    cursor = Page.BYTES;
    placed = 0;
  }

  /**
   * Finds room for a record.
   *
   * @return its offset in pages, or -1 if it and the summary do not both fit
   */
  int place(long recordBytes, long segmentBytes) {
    if (cursor + recordBytes > segmentBytes - Summary.bytes(placed + 1)) {
      return -1;
    }
    int offset = (int) (cursor / Page.BYTES);
    cursor += recordBytes;
    placed++;
    return offset;
  }
}
