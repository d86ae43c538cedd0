package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The settings of a store, checked.
 *
 * @param segmentBytes the size of a segment, or 0 for one that follows from the capacity
 * @param depth how many transfers are in flight at most
 * @param direct whether transfers bypass the page cache
 */
record Settings(long segmentBytes, int depth, boolean direct) {

  static final String SEGMENT_BYTES = "segment-bytes";
  static final String DEPTH = "depth";
  static final String DIRECT = "direct";

  private static final int DEFAULT_DEPTH = 32;
  private static final int MAX_DEPTH = 1024;

  /**
   * Reads settings.
   *
   * @param backend the backend's name, for messages
   * @param known the settings that it has
   * @param given what was configured
   */
  static Settings parse(String backend, Set<String> known, Map<String, String> given) {
    for (String name : new TreeSet<>(given.keySet())) {
      if (!known.contains(name)) {
        throw new RefusedException("store backend '" + backend + "' has no setting '" + name + "'; it has "
            + String.join(", ", new TreeSet<>(known)));
      }
    }
    long segmentBytes = 0;
    if (given.containsKey(SEGMENT_BYTES)) {
      segmentBytes = ByteSize.parse(given.get(SEGMENT_BYTES)).bytes();
      Sizing.requireSegmentBytes(segmentBytes);
    }
    return new Settings(segmentBytes, depth(given.get(DEPTH)), direct(given.get(DIRECT)));
  }

  private static int depth(String text) {
    if (text == null) {
      return DEFAULT_DEPTH;
    }
    try {
      int depth = Integer.parseInt(text.strip());
      if (depth >= 1 && depth <= MAX_DEPTH) {
        return depth;
      }
    } catch (NumberFormatException e) {
      throw refused(DEPTH, text, "a number from 1 to " + MAX_DEPTH);
    }
    throw refused(DEPTH, text, "a number from 1 to " + MAX_DEPTH);
  }

  private static boolean direct(String text) {
    return switch (text) {
      case null -> true;
      case "true" -> true;
      case "false" -> false;
      default -> throw refused(DIRECT, text, "true or false");
    };
  }

  private static RefusedException refused(String name, String text, String expected) {
    return new RefusedException("setting " + name + " is '" + text + "', expected " + expected);
  }
}
