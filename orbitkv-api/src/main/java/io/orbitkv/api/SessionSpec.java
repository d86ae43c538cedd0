package io.orbitkv.api;

import java.util.Objects;

/**
 * What an engine instance states about itself when it attaches.
 *
 * @param instance a name for messages and metrics, 1 to 128 characters
 * @param namespace what its bytes mean
 * @param layout how its blocks are divided over its ranks
 */
public record SessionSpec(String instance, Namespace namespace, ShardLayout layout) {

  /** Checks the name. */
  public SessionSpec {
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(layout, "layout");
    if (instance.isBlank() || instance.length() > 128) {
      throw new RefusedException("instance name '" + instance + "' is not 1 to 128 characters");
    }
  }
}
