package io.orbitkv.core.lookup;

/** How a {@link Question} stands. */
public sealed interface Finding {

  /** Not known yet, or blocks are being read from the SSD. */
  record Open() implements Finding {}

  /**
   * Leading blocks are in memory.
   *
   * @param hold holds them; the caller owns it
   */
  record Held(Hold hold) implements Finding {}

  /**
   * Nothing can be loaded.
   *
   * @param reason why, in lower case, for counting
   */
  record Nothing(String reason) implements Finding {}
}
