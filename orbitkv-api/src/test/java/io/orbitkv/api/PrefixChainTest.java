package io.orbitkv.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class PrefixChainTest {

  private static final String FIRST = "b23660f494ecdde0f509a9345dd3299bf15ebee89d8f6f2eb57cdedbe5f859e9";
  private static final String SECOND = "2860bbb4876e946b812b0436a4be809075d1034265da8f5148dfd7773f94895d";

  @Test
  void ofTokens_isTheSameInEveryRelease() {
    // Computed apart from this code: a change of it makes every stored block unreachable.
    PrefixChain chain = PrefixChain.ofTokens(new int[] {1, 2, 3, 4, 5, -6, 7}, 3);
    assertThat(chain.blocks()).as("whole blocks only").isEqualTo(2);
    assertThat(chain.hash(0).toHex()).isEqualTo(FIRST);
    assertThat(chain.hash(1).toHex()).isEqualTo(SECOND);
    assertThat(chain.word(1, 0)).isEqualTo(chain.hash(1).w0());
    assertThat(chain.word(1, 3)).isEqualTo(chain.hash(1).w3());
  }

  @Test
  void ofTokens_fewerTokensThanABlock_isEmpty() {
    assertThat(PrefixChain.ofTokens(new int[] {1, 2}, 3).blocks()).isZero();
  }

  @Test
  void ofTokens_blockWithoutTokens_isRefused() {
    assertThatThrownBy(() -> PrefixChain.ofTokens(new int[] {1}, 0))
        .isInstanceOf(RefusedException.class).hasMessage("block has 0 tokens, expected at least 1");
  }

  @Test
  void ofEngineHashes_takes32BytesAsTheyAre() {
    byte[] hash = Digest.ofHex(FIRST).toBytes();
    assertThat(PrefixChain.ofEngineHashes(List.of(hash)).hash(0).toHex()).isEqualTo(FIRST);
  }

  @Test
  void ofEngineHashes_framesOtherLengths() {
    PrefixChain chain =
        PrefixChain.ofEngineHashes(List.of(new byte[] {1, 2, 3, 4, 5, 6, 7, 8}, new byte[1], new byte[2]));
    assertThat(chain.hash(0).toHex()).isEqualTo("10aa4e42520803c9687a038f54806b1a9e62ba27507563644a356c7ded41d7b9");
    assertThat(chain.hash(1)).as("zeros of different lengths").isNotEqualTo(chain.hash(2));
  }

  @Test
  void ofEngineHashes_emptyHash_isRefused() {
    assertThatThrownBy(() -> PrefixChain.ofEngineHashes(List.of(new byte[0])))
        .isInstanceOf(RefusedException.class).hasMessageContaining("block hash is empty");
  }

  @Test
  void first_isTheChainOfTheShorterPrompt() {
    int[] tokens = {1, 2, 3, 4, 5, 6, 7, 8};
    PrefixChain shorter = PrefixChain.ofTokens(tokens, 2).first(2);
    assertThat(shorter).isEqualTo(PrefixChain.ofTokens(Arrays.copyOf(tokens, 4), 2))
        .hasSameHashCodeAs(PrefixChain.ofTokens(Arrays.copyOf(tokens, 4), 2))
        .isNotEqualTo(PrefixChain.ofTokens(tokens, 2));
    assertThat(shorter.first(0).blocks()).isZero();
    assertThat(shorter.first(2)).isSameAs(shorter);
  }

  @Test
  void first_outsideTheChain_isRefused() {
    PrefixChain chain = PrefixChain.ofTokens(new int[] {1, 2}, 1);
    assertThatThrownBy(() -> chain.first(3)).hasMessage("first 3 blocks of a chain of 2");
    assertThatThrownBy(() -> chain.first(-1)).hasMessage("first -1 blocks of a chain of 2");
  }

  @Test
  void first_doesNotOpenWhatItShares() {
    PrefixChain shorter = PrefixChain.ofTokens(new int[] {1, 2}, 1).first(1);
    assertThatThrownBy(() -> shorter.hash(1)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> shorter.word(1, 0)).isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void of_takesChainsUpToTheLimit() {
    assertThat(PrefixChain.of(Collections.nCopies(PrefixChain.MAX_BLOCKS, Digest.ZERO)).blocks())
        .isEqualTo(PrefixChain.MAX_BLOCKS);
    assertThatThrownBy(() -> PrefixChain.of(Collections.nCopies(PrefixChain.MAX_BLOCKS + 1, Digest.ZERO)))
        .isInstanceOf(RefusedException.class).hasMessage("chain has 1048577 blocks, expected at most 1048576");
  }

  @Test
  void read_isWhatWriteWrote() {
    PrefixChain chain = PrefixChain.ofTokens(new int[] {1, 2, 3, 4, 5, 6}, 2);
    ByteBuffer bytes = ByteBuffer.allocate(3 * Digest.BYTES);
    chain.write(bytes);

    assertThat(PrefixChain.read(bytes.flip())).isEqualTo(chain);
    assertThat(bytes.hasRemaining()).isFalse();
    assertThat(Digest.of(Arrays.copyOf(bytes.array(), Digest.BYTES))).isEqualTo(chain.hash(0));
  }

  @Test
  void read_refusesHalfAHash() {
    assertThatThrownBy(() -> PrefixChain.read(ByteBuffer.allocate(Digest.BYTES + 16)))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("48 bytes");
  }

  @Test
  void over_isWhatReadReads_withoutACopy() {
    PrefixChain chain = PrefixChain.ofTokens(new int[] {1, 2, 3, 4, 5, 6}, 2);
    ByteBuffer bytes = ByteBuffer.allocateDirect(Integer.BYTES + 3 * Digest.BYTES).position(Integer.BYTES);
    chain.write(bytes);
    PrefixChain over = PrefixChain.over(bytes.position(Integer.BYTES));

    assertThat(bytes.position()).isEqualTo(Integer.BYTES);
    assertThat(over).isEqualTo(chain).hasSameHashCodeAs(chain);
    assertThat(over.hash(2)).isEqualTo(chain.hash(2));
    assertThat(over.first(2)).isEqualTo(chain.first(2));

    bytes.putLong(Integer.BYTES, 7);
    assertThat(over.word(0, 0)).isEqualTo(7);
  }

  @Test
  void over_refusesHalfAHash() {
    assertThatThrownBy(() -> PrefixChain.over(ByteBuffer.allocate(Digest.BYTES + 16)))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("48 bytes");
  }

  @Test
  void read_doesNotChangeWithWhatItRead() {
    ByteBuffer bytes = ByteBuffer.allocate(Digest.BYTES);
    PrefixChain chain = PrefixChain.read(bytes);
    bytes.putLong(0, 7);
    assertThat(chain.hash(0)).isEqualTo(Digest.ZERO);
  }
}
