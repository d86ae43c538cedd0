package io.orbitkv.api.spi;

/** Provides the order in which blocks leave memory. */
public interface ResidencyPolicy {

  /** Returns the name under which it is selected, as "lru". */
  String name();

  /**
   * Makes an order with nothing in it.
   *
   * @param options its frame
   * @return the order
   */
  EvictionOrder open(PolicyOptions options);
}
