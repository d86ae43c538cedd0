package io.orbitkv.core.machine;

/** Where an extent lies on the SSD, in a row's one long: the segment in its upper half, the offset in its lower. */
final class Place {

  private Place() {}

  static long of(int segment, int offset) {
    return (long) segment << 32 | offset;
  }

  static int segment(long place) {
    return (int) (place >>> 32);
  }

  /** Returns the offset in the segment, in units of the store's alignment. */
  static int offset(long place) {
    return (int) place;
  }
}
