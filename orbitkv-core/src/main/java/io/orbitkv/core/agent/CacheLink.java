package io.orbitkv.core.agent;

import io.orbitkv.api.Cache;

/** How an agent comes to its cache, once its engine has said which part of which instance it is. Thread-safe. */
public interface CacheLink {

  /**
   * Returns a cache to attach to.
   *
   * @param incarnation as the engine stated it
   * @param rank the engine's rank
   * @param ranks how many ranks its instance has
   * @throws io.orbitkv.api.UnavailableException if there is none at present
   */
  Cache connect(long incarnation, int rank, int ranks);

  /**
   * Gives a cache back. Its sessions and grants have ended.
   *
   * @param cache as {@link #connect} returned it
   */
  void disconnect(Cache cache);

  /**
   * A cache in this process, which others may use too: it stays open.
   *
   * @param cache the cache
   * @return the link
   */
  static CacheLink to(Cache cache) {
    return new CacheLink() {
      @Override
      public Cache connect(long incarnation, int rank, int ranks) {
        return cache;
      }

      @Override
      public void disconnect(Cache same) {}
    };
  }
}
