package io.orbitkv.core.machine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The requests in flight by token, and the carries that wait for a segment. A token carries the slot's generation, so a
 * completion can only be used once.
 */
final class StoreRequests {

  private final List<StoreRequest> slots = new ArrayList<>();
  private final List<Integer> generations = new ArrayList<>();
  private final List<Integer> free = new ArrayList<>();
  private final ArrayDeque<StoreRequest.Carry> waiting = new ArrayDeque<>();
  private int size;
  private boolean unsubmitted;

  long add(StoreRequest request) {
    size++;
    unsubmitted = true;
    int slot;
    if (free.isEmpty()) {
      slot = slots.size();
      slots.add(request);
      generations.add(0);
    } else {
      slot = free.removeLast();
      slots.set(slot, request);
    }
    return (long) generations.get(slot) << 32 | slot;
  }

  StoreRequest remove(long token) {
    int slot = (int) token;
    if (slot < 0 || slot >= slots.size() || slots.get(slot) == null || generations.get(slot) != (int) (token >>> 32)) {
      throw new IllegalStateException("the store completed token " + token + ", which is not in flight");
    }
    StoreRequest request = slots.set(slot, null);
    generations.set(slot, generations.get(slot) + 1);
    free.add(slot);
    size--;
    return request;
  }

  /** Returns how many the store has not completed. */
  int size() {
    return size;
  }

  /** Returns whether any were added since this was asked last. */
  boolean takeUnsubmitted() {
    boolean result = unsubmitted;
    unsubmitted = false;
    return result;
  }

  /** Keeps a carry that has no segment to go to. */
  void await(StoreRequest.Carry carry) {
    waiting.add(carry);
  }

  boolean hasWaiting() {
    return !waiting.isEmpty();
  }

  /** Returns the carry that has waited longest. */
  StoreRequest.Carry takeWaiting() {
    return waiting.remove();
  }

  /** Visits those in flight, and the carries that wait. */
  void forEach(Consumer<StoreRequest> action) {
    for (StoreRequest request : slots) {
      if (request != null) {
        action.accept(request);
      }
    }
    waiting.forEach(action);
  }
}
