package io.orbitkv.api.spi;

/** Receives what a store finds at its start. */
public interface RecoverySink {

  /** What a segment was when the store was last in use. */
  enum SegmentState {
    /** Never activated, or its header is damaged: it holds nothing. */
    EMPTY,
    /** Closed with a summary. */
    SEALED,
    /** In use when the process ended; its extents were found by a scan. To be sealed before anything else. */
    UNSEALED
  }

  /**
   * Starts a segment; its extents follow.
   *
   * @param segment 0 to segments - 1
   * @param generation its generation, unique over all activations of the store; 0 if empty
   * @param state what it was
   */
  void segment(int segment, long generation, SegmentState state);

  /**
   * Hands over an extent of the segment last started.
   *
   * @param offset its place in units of the store's alignment
   * @param header what it is; checksums may be empty where a summary does not carry them
   * @param payloadBytes the payload's length
   * @param shards the number of shards
   */
  void extent(int offset, ExtentHeader header, long payloadBytes, int shards);
}
