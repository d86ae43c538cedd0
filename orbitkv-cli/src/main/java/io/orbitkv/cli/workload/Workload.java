package io.orbitkv.cli.workload;

import io.orbitkv.api.PrefixChain;
import java.util.List;

/**
 * Prompts in the order in which they arrive. Immutable.
 *
 * @param name what it is, for reports: a file's name, or a shape and its seed
 * @param prompts the block hashes of every prompt, computed ahead, since a replay measures the cache and not SHA-256
 */
public record Workload(String name, List<PrefixChain> prompts) {

  /** Copies the list. */
  public Workload {
    prompts = List.copyOf(prompts);
  }

  /** Returns the blocks of all prompts. */
  public long blocks() {
    return prompts.stream().mapToLong(PrefixChain::blocks).sum();
  }

  /** Returns the blocks of the longest prompt. */
  public int longestPrompt() {
    return prompts.stream().mapToInt(PrefixChain::blocks).max().orElse(0);
  }

  /**
   * Names a prompt's blocks. A block's hash covers its id and all ids before it, so equal ids meet in one name exactly
   * when all before them are equal too.
   */
  static PrefixChain chain(int[] blockIds) {
    return PrefixChain.ofTokens(blockIds, 1);
  }
}
