package io.orbitkv.core.machine;

/** Bytes that may be charged at once, and are until what they pay for has ended. */
final class Budget {

  private final long limit;
  private long used;

  Budget(long limit) {
    this.limit = limit;
  }

  long limit() {
    return limit;
  }

  long used() {
    return used;
  }

  boolean fits(long bytes) {
    return bytes <= limit - used;
  }

  void charge(long bytes) {
    used += bytes;
  }

  void refund(long bytes) {
    if (bytes > used) {
      throw new IllegalStateException("refund of " + bytes + " bytes with " + used + " charged");
    }
    used -= bytes;
  }
}
