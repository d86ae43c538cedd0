package io.orbitkv.pd.composition;

import java.util.List;

/**
 * Prefill and decode workers of one model, composed with the cache. Any number of threads.
 *
 * @param engine whose workers they are
 * @param release of the engine, as its package is versioned
 * @param model what they serve
 * @param transport what hands a request's pages from prefill to decode
 * @param cache how the cache is used
 * @param workers all of them, prefill first; their names differ
 * @param router what clients speak to
 */
public record Composition(
    Engine engine, String release, Model model, Transport transport, CacheUse cache, List<Worker> workers,
    Router router) {

  /** Copies the workers. */
  public Composition {
    workers = List.copyOf(workers);
  }

  /** Returns the workers of one role, in the order of the file. */
  public List<Worker> workers(Role role) {
    return workers.stream().filter(worker -> worker.role() == role).toList();
  }
}
