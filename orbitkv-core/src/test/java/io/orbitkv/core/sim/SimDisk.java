package io.orbitkv.core.sim;

import io.orbitkv.api.spi.ExtentHeader;
import java.util.TreeMap;

/** What a simulated store leaves behind when its process ends. */
final class SimDisk {

  static final int UNIT = 64;

  /** An extent on the disk. */
  static final class Extent {
    final ExtentHeader header;
    final byte[] bytes;
    boolean damaged;

    Extent(ExtentHeader header, byte[] bytes) {
      this.header = header;
      this.bytes = bytes;
    }
  }

  /** A segment on the disk. */
  static final class Segment {
    final TreeMap<Integer, Extent> extents = new TreeMap<>();
    long generation;
    boolean sealed;
  }

  final Segment[] segments;
  final int segmentUnits;
  long generations;

  SimDisk(int count, int segmentUnits) {
    this.segments = new Segment[count];
    this.segmentUnits = segmentUnits;
    for (int i = 0; i < count; i++) {
      segments[i] = new Segment();
    }
  }
}
