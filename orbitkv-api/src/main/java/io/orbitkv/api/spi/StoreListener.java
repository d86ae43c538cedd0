package io.orbitkv.api.spi;

/** Receives a store's completions, on the store's threads. Must return at once and never throw. */
@FunctionalInterface
public interface StoreListener {

  /**
   * Ends a request.
   *
   * @param token as given with the request
   * @param status how it ended
   */
  void completed(long token, StoreStatus status);
}
