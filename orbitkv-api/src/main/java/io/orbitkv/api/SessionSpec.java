package io.orbitkv.api;

import java.util.Objects;

/**
 * What an engine instance states about itself when it attaches.
 *
 * @param instance a name for messages and metrics, 1 to 128 characters
 * @param namespace what its bytes mean
 * @param layout how its blocks are divided over its ranks
 * @param blockTokens tokens of one block, for counting only, 0 to 65,536; zero if not stated, then its blocks count no
 *     tokens
 */
public record SessionSpec(String instance, Namespace namespace, ShardLayout layout, int blockTokens) {

  private static final int MAX_BLOCK_TOKENS = 1 << 16;

  /** Checks the name and the tokens. */
  public SessionSpec {
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(layout, "layout");
    if (instance.isBlank() || instance.length() > 128) {
      throw new RefusedException("instance name '" + instance + "' is not 1 to 128 characters");
    }
    if (blockTokens < 0 || blockTokens > MAX_BLOCK_TOKENS) {
      throw new RefusedException("instance '" + instance + "' states " + blockTokens + " tokens a block, expected 1 to "
          + MAX_BLOCK_TOKENS + ", or 0 to state none");
    }
  }

  /** States no tokens a block. */
  public SessionSpec(String instance, Namespace namespace, ShardLayout layout) {
    this(instance, namespace, layout, 0);
  }
}
