package io.orbitkv.core.machine;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** The requests in flight by token. A token carries the slot's generation, so a completion can only be used once. */
final class StoreRequests {

  private final List<StoreRequest> slots = new ArrayList<>();
  private final List<Integer> generations = new ArrayList<>();
  private final List<Integer> free = new ArrayList<>();
  private int size;

  long add(StoreRequest request) {
    size++;
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

  int size() {
    return size;
  }

  void forEach(Consumer<StoreRequest> action) {
    for (StoreRequest request : slots) {
      if (request != null) {
        action.accept(request);
      }
    }
  }
}
