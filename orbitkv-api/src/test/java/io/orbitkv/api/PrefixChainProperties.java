package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class PrefixChainProperties {

  @Property(tries = 200)
  void chainsShareExactlyTheirEqualLeadingBlocks(
      @ForAll @Size(min = 0, max = 200) int[] tokens, @ForAll @IntRange(min = 1, max = 9) int blockTokens,
      @ForAll @IntRange(min = 0, max = 199) int changed) {
    PrefixChain chain = PrefixChain.ofTokens(tokens, blockTokens);
    assertThat(chain.blocks()).isEqualTo(tokens.length / blockTokens);
    if (changed < tokens.length) {
      int[] other = tokens.clone();
      other[changed]++;
      PrefixChain otherChain = PrefixChain.ofTokens(other, blockTokens);
      for (int block = 0; block < chain.blocks(); block++) {
        assertThat(chain.hash(block).equals(otherChain.hash(block))).isEqualTo(block < changed / blockTokens);
      }
    }
  }
}
