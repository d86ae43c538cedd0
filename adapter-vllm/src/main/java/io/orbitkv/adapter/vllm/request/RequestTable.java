package io.orbitkv.adapter.vllm.request;

import io.orbitkv.api.PrefixChain;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The requests that the engine knows, and those that it has forgotten and workers have not. Bounded. */
final class RequestTable {

  private final RequestLimits limits;
  private final Tally tally;
  private final Map<String, EngineRequest> known = new HashMap<>();
  /** Of these a load is under way; they are found by its report. */
  private final Map<String, EngineRequest> loading = new HashMap<>();
  private long chainBlocks;

  RequestTable(RequestLimits limits, Tally tally) {
    this.limits = limits;
    this.tally = tally;
  }

  Optional<EngineRequest> find(String id) {
    return Optional.ofNullable(known.get(id));
  }

  /** Returns a request that the engine has forgotten and that is being loaded. */
  Optional<EngineRequest> findLoading(String id) {
    return Optional.ofNullable(loading.get(id));
  }

  Collection<EngineRequest> all() {
    return known.values();
  }

  int size() {
    return known.size();
  }

  /** Returns a request that may be new; nothing if there is no room for it. */
  Optional<EngineRequest> take(String id) {
    return take(id, 0, PrefixChain.of(List.of()));
  }

  /**
   * Returns a request that may be new, with hashes that continue its chain.
   *
   * @return the request; nothing if there is no room, or if it is not what it was thought to be, and then it is not
   *     known any more or never was
   */
  Optional<EngineRequest> take(String id, int firstHash, PrefixChain hashes) {
    EngineRequest request = known.get(id);
    boolean isNew = request == null;
    if (isNew) {
      if (firstHash != 0 || loading.containsKey(id)) {
        // Its beginning was not taken, or it has the name of another one.
        return Optional.empty();
      }
      request = new EngineRequest(id);
    }
    RequestChain chain = request.chain();
    int before = chain.blocks();
    if (isNew && known.size() >= limits.requests()
        || chainBlocks - before + chain.blocksWith(firstHash, hashes) > limits.chainBlocks()) {
      tally.add(Tally.Count.TABLE_FULL, 1);
      return Optional.empty();
    }
    if (!chain.extend(firstHash, hashes)) {
      return Optional.empty();
    }
    chainBlocks += chain.blocks() - before;
    known.put(id, request);
    return Optional.of(request);
  }

  /** The engine has forgotten it. */
  void forget(EngineRequest request) {
    if (known.remove(request.id(), request)) {
      chainBlocks -= request.chain().blocks();
      if (request.isLoading()) {
        loading.put(request.id(), request);
      }
    }
  }

  /** The load of a forgotten request is over. */
  void loadEnded(EngineRequest request) {
    loading.remove(request.id(), request);
  }

  /** Forgets all, and gives up what is asked and held for them. */
  void clear() {
    known.values().forEach(EngineRequest::abandon);
    loading.values().forEach(EngineRequest::abandon);
    known.clear();
    loading.clear();
    chainBlocks = 0;
  }
}
