package io.orbitkv.core.agent;

import io.orbitkv.api.Cache;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.client.Membership;

/** How an agent attaches its engine to a cache, once the engine has said who it is. Thread-safe. */
@FunctionalInterface
public interface CacheLink {

  /**
   * Attaches an engine worker.
   *
   * @param spec what its instance is
   * @param membership which part of the instance it is
   * @return the session, owned by the caller
   * @throws RefusedException if the cache cannot serve such an engine
   * @throws io.orbitkv.api.UnavailableException if there is no cache at present; asking again later may help
   */
  Session attach(SessionSpec spec, Membership membership);

  /**
   * A cache in this process, which serves engines of one rank: the shards of others would never meet here.
   *
   * @param cache the cache; it must outlive the sessions
   * @return the link
   */
  static CacheLink embedded(Cache cache) {
    return (spec, membership) -> {
      if (spec.layout().ranks() != 1) {
        throw new RefusedException("instance '" + spec.instance() + "' has " + spec.layout().ranks()
            + " ranks, and an embedded cache serves one; give the agents of all ranks one Manager");
      }
      return cache.attach(spec);
    };
  }
}
