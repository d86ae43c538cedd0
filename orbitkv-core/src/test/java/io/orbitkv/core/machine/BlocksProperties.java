package io.orbitkv.core.machine;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.IntPredicate;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class BlocksProperties {

  @Property(tries = 100)
  void theLongestPrefix_isWhatALinearSearchFinds(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    try (Blocks blocks = new Blocks(seed, bytes -> bytes)) {
      Scope scope = blocks.scope(CoreBench.namespace(0), 0, ShardLayout.single(64));
      Set<Integer> marked = new HashSet<>();
      for (int i = 0; i < 20; i++) {
        add(blocks, scope, chain(random), random, marked);
      }
      for (int i = 0; i < 40; i++) {
        PrefixChain asked = chain(random);
        int limit = random.nextInt(asked.blocks() + 1);
        assertThat(blocks.longest(scope, asked, limit, marked::contains)).as("%s, %d considered", asked, limit)
            .isEqualTo(linear(blocks, scope, asked, limit, marked::contains));
      }
    }
  }

  @Property(tries = 100)
  void aSearch_takesTwiceTheLogarithmOfProbes(
      @ForAll @IntRange(max = 5_000) int stored, @ForAll @IntRange(min = 1, max = 5_000) int length) {
    try (Blocks blocks = new Blocks(1, bytes -> bytes)) {
      Scope scope = blocks.scope(CoreBench.namespace(0), 0, ShardLayout.single(64));
      PrefixChain chain = CoreBench.chainOf(length);
      int parent = BlockTable.NONE;
      for (int block = 0; block < length; block++) {
        parent = blocks.create(scope, chain, block, parent);
      }
      int[] probes = {0};
      int found = blocks.longest(scope, chain, length, row -> {
        probes[0]++;
        return blocks.table().depth(row) < stored;
      });
      assertThat(found).isEqualTo(Math.min(stored, length));
      int logarithm = 32 - Integer.numberOfLeadingZeros(Math.min(found + 1, length));
      assertThat(probes[0]).isLessThanOrEqualTo(2 * logarithm + 2);
    }
  }

  /** Adds a chain's blocks and marks its leading ones: marks are prefix-closed, and rows without one may follow. */
  private static void add(Blocks blocks, Scope scope, PrefixChain chain, SplittableRandom random, Set<Integer> marked) {
    int parent = BlockTable.NONE;
    int marks = random.nextInt(chain.blocks() + 1);
    for (int block = 0; block < chain.blocks(); block++) {
      int row = blocks.find(scope, chain, block);
      if (row == BlockTable.NONE) {
        row = blocks.create(scope, chain, block, parent);
      }
      if (block < marks) {
        marked.add(row);
      }
      parent = row;
    }
  }

  /** Chains with few branches, so that they share prefixes. */
  private static PrefixChain chain(SplittableRandom random) {
    int[] tokens = new int[1 + random.nextInt(70)];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = random.nextInt(12) == 0 ? 1 : 0;
    }
    return PrefixChain.ofTokens(tokens, 1);
  }

  private static int linear(Blocks blocks, Scope scope, PrefixChain chain, int limit, IntPredicate condition) {
    int count = 0;
    while (count < limit) {
      int row = blocks.find(scope, chain, count);
      if (row == BlockTable.NONE || !condition.test(row)) {
        break;
      }
      count++;
    }
    return count;
  }
}
