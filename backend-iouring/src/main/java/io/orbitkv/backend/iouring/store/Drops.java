package io.orbitkv.backend.iouring.store;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Counts what recovery could not hand over, by reason. */
final class Drops {

  /** Why something was not handed over. */
  enum Reason {
    /** Segments whose header is not one of this store and place: all they held is gone. */
    DAMAGED_SEGMENT_HEADER,
    /** Segments that the device would not read the header of. */
    UNREADABLE_SEGMENT,
    /** Summaries that cannot be trusted; their segments were scanned instead. */
    DAMAGED_SUMMARY,
    /** Record headers of the segment's generation with a wrong checksum, place or shape. */
    DAMAGED_EXTENT_HEADER,
    /** Extents with an intact header and wrong or missing bytes. */
    TORN_EXTENT,
    /** Parts of segments that the device would not read during a scan. */
    UNREADABLE_PART,
    /** Segments that lay beyond the end of a file that was too short. */
    TRUNCATED_SEGMENT;

    /** Returns the name in reports, as "torn-extent". */
    String label() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  private final Map<Reason, Long> counts = new EnumMap<>(Reason.class);

  void add(Reason reason) {
    add(reason, 1);
  }

  void add(Reason reason, long count) {
    if (count > 0) {
      counts.merge(reason, count, Long::sum);
    }
  }

  boolean has(Reason reason) {
    return counts.containsKey(reason);
  }

  /** Returns the counts by label. */
  Map<String, Long> byLabel() {
    Map<String, Long> labels = new TreeMap<>();
    counts.forEach((reason, count) -> labels.put(reason.label(), count));
    return labels;
  }
}
