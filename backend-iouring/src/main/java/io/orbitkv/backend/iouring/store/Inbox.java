package io.orbitkv.backend.iouring.store;

import java.util.concurrent.atomic.AtomicReference;

/**
 * Hands chains of requests from the core's thread to the driver without a lock, so that neither can hold up the other.
 * It has no bound of its own: every request in it holds a record buffer of the core's, or is the one activation or seal
 * of its segment, so the memory that the core gives to transfers bounds it.
 */
final class Inbox {

  /** The newest first. */
  private final AtomicReference<Request> newest = new AtomicReference<>();

  /**
   * Adds a chain.
   *
   * @param last its newest request, linked to the older ones
   * @param first its oldest
   */
  void push(Request last, Request first) {
    Request head = newest.get();
    while (true) {
      first.following = head;
      Request witness = newest.compareAndExchange(head, last);
      if (witness == head) {
        return;
      }
      head = witness;
    }
  }

  boolean isEmpty() {
    return newest.get() == null;
  }

  /** Takes all, linked from the oldest to the newest; null if there is none. */
  Request takeAll() {
    return oldestFirst(newest.getAndSet(null));
  }

  /** Turns a chain round. */
  static Request oldestFirst(Request newest) {
    Request chain = null;
    Request request = newest;
    while (request != null) {
      Request older = request.following;
      request.following = chain;
      chain = request;
      request = older;
    }
    return chain;
  }
}
