package io.orbitkv.api.spi;

import java.util.List;
import java.util.Map;

/**
 * What a store's folder holds, as far as it can be read without owning it.
 *
 * @param facts the store's own figures in the order in which a person wants them: format version, id, sizes, owner
 * @param segments one line a segment
 * @param extents intact extents
 * @param payloadBytes their payload
 * @param dropped what could not be trusted, by reason
 */
public record StoreInspection(
    Map<String, String> facts, List<Segment> segments, long extents, long payloadBytes, Map<String, Long> dropped) {

  /** Copies the list; the maps keep their order. */
  public StoreInspection {
    segments = List.copyOf(segments);
  }

  /**
   * One segment.
   *
   * @param index its place
   * @param generation its generation, 0 if it was never used
   * @param state what it is
   * @param extents intact extents in it
   * @param payloadBytes their payload
   */
  public record Segment(
      int index, long generation, RecoverySink.SegmentState state, long extents, long payloadBytes) {}
}
