package io.orbitkv.core.sim;

import io.orbitkv.api.spi.ExtentHeader;
import java.util.Map;
import java.util.TreeMap;

/** What a simulated store leaves behind when its process ends. */
public final class SimDisk {

  /** Alignment in bytes, and the bytes of an extent's header. */
  public static final int UNIT = 64;

  /** An extent on the disk. */
  static final class Extent {
    final ExtentHeader header;
    final byte[] bytes;
    /** Its bytes are not what its header says. */
    boolean damaged;
    /** Its header is damaged, so that nobody can find it. */
    boolean lost;
    /** A core was told that it is there. */
    boolean reported;

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

  /**
   * @param count how many segments it has
   * @param segmentUnits the size of a segment in units
   */
  public SimDisk(int count, int segmentUnits) {
    this.segments = new Segment[count];
    this.segmentUnits = segmentUnits;
    for (int i = 0; i < count; i++) {
      segments[i] = new Segment();
    }
  }

  /**
   * Puts an extent there, as an earlier process might have.
   *
   * @param generation of the segment, if it is not what was stated before
   */
  public void put(int segment, long generation, int offset, ExtentHeader header) {
    segments[segment].generation = generation;
    generations = Math.max(generations, generation);
    segments[segment].extents.put(offset, new Extent(header, new byte[(int) header.payloadBytes()]));
  }

  /** Damages the bytes of every extent. */
  public void damageAll() {
    for (Segment segment : segments) {
      segment.extents.values().forEach(extent -> extent.damaged = true);
    }
  }

  /** Returns whether a core was told that there is an extent at a place. */
  boolean isReported(long place) {
    Extent extent = segments[(int) (place >>> 32)].extents.get((int) place);
    return extent != null && extent.reported;
  }

  /** Returns the place of the youngest extent of a name that can be found, or -1. */
  long youngest(String name) {
    long place = -1;
    long generation = -1;
    for (int i = 0; i < segments.length; i++) {
      for (Map.Entry<Integer, Extent> entry : segments[i].extents.entrySet()) {
        ExtentHeader header = entry.getValue().header;
        if (!entry.getValue().lost && segments[i].generation >= generation
            && name.equals(header.namespace() + "/" + header.key().toHex())) {
          place = (long) i << 32 | entry.getKey();
          generation = segments[i].generation;
        }
      }
    }
    return place;
  }
}
