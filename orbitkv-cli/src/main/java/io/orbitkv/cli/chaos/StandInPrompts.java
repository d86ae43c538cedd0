package io.orbitkv.cli.chaos;

import io.orbitkv.api.PrefixChain;
import java.util.Arrays;
import java.util.SplittableRandom;

/** The prompts of a stand-in. Those of one conversation are prefixes of each other; some conversations come more often. */
final class StandInPrompts {

  /** Most blocks of a prompt. */
  static final int MOST_BLOCKS = 48;

  private static final int CONVERSATIONS = 64;

  private final SplittableRandom random;

  /** @param seed decides all of them */
  StandInPrompts(long seed) {
    this.random = new SplittableRandom(seed);
  }

  PrefixChain next() {
    int conversation = Math.min(random.nextInt(CONVERSATIONS), random.nextInt(CONVERSATIONS));
    int[] tokens = new int[MOST_BLOCKS];
    Arrays.setAll(tokens, i -> i == 0 ? conversation : i);
    return PrefixChain.ofTokens(tokens, 1).first(random.nextInt(1, MOST_BLOCKS + 1));
  }
}
