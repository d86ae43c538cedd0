package io.orbitkv.cli.replay;

import io.orbitkv.api.Cache;
import io.orbitkv.api.spi.RecoveryReport;
import java.util.Optional;

/** Opens the cache under replay, again after every restart. */
@FunctionalInterface
public interface CacheOpener {

  /**
   * A cache that was just opened.
   *
   * @param cache the cache, owned by the caller
   * @param recovery what its SSD tier found, if it has one
   */
  record Opened(Cache cache, Optional<RecoveryReport> recovery) {}

  /**
   * Opens the cache.
   *
   * @return the cache, with all its memory
   * @throws InterruptedException if the thread was interrupted while the cache took its memory
   */
  Opened open() throws InterruptedException;
}
