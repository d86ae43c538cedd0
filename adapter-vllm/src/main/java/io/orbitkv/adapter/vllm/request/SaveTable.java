package io.orbitkv.adapter.vllm.request;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The saves that are ordered and not reported. Bounded. */
final class SaveTable {

  /** A save, and whose it is. */
  record Ordered(EngineRequest request, int blocks) {}

  private final int limit;
  private final Map<Long, Ordered> saves = new HashMap<>();

  SaveTable(int limit) {
    this.limit = limit;
  }

  boolean isFull() {
    return saves.size() >= limit;
  }

  boolean isEmpty() {
    return saves.isEmpty();
  }

  int size() {
    return saves.size();
  }

  void add(long number, Ordered save) {
    saves.put(number, save);
  }

  /** Takes out a save that is reported; nothing if it was not ordered here. */
  Optional<Ordered> remove(long number) {
    return Optional.ofNullable(saves.remove(number));
  }

  void clear() {
    saves.clear();
  }
}
