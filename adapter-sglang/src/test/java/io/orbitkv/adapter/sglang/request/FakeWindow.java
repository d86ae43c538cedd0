package io.orbitkv.adapter.sglang.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.lookup.Finding;
import io.orbitkv.core.lookup.Hold;
import io.orbitkv.core.lookup.Question;
import io.orbitkv.core.lookup.Questions;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** A cache of window blocks that has those of one chain that a test says. A block's lease is 100 more than its number. */
final class FakeWindow implements Questions {

  private final Map<Digest, Integer> numbers = new HashMap<>();

  final Set<Integer> inMemory = new HashSet<>();

  /** Read when {@link #isRead}, and asked about until then. */
  final Set<Integer> onSsd = new HashSet<>();

  boolean isRead;
  int asked;
  int underWay;
  int heldNow;

  FakeWindow(PrefixChain chain) {
    for (int block = 0; block < chain.blocks(); block++) {
      numbers.put(chain.hash(block), block);
    }
  }

  @Override
  public Question ask(PrefixChain chain) {
    assertThat(chain.blocks()).isOne();
    asked++;
    underWay++;
    return new FakeBlock(numbers.get(chain.hash(0)));
  }

  private final class FakeBlock implements Question {

    private final int block;
    private boolean ended;
    private boolean settled;

    private FakeBlock(int block) {
      this.block = block;
    }

    @Override
    public Finding look() {
      assertThat(ended).as("a question that has ended is looked at").isFalse();
      boolean onDisk = onSsd.contains(block);
      if (onDisk && !isRead && !settled) {
        return new Finding.Open();
      }
      end();
      if (!inMemory.contains(block) && !(onDisk && isRead)) {
        return new Finding.Nothing("not_stored");
      }
      heldNow++;
      return new Finding.Held(new FakeHold(block));
    }

    @Override
    public void settle() {
      settled = true;
    }

    @Override
    public void drop() {
      end();
    }

    private void end() {
      if (!ended) {
        ended = true;
        underWay--;
      }
    }
  }

  private final class FakeHold implements Hold {

    private final int block;
    private boolean released;

    private FakeHold(int block) {
      this.block = block;
    }

    @Override
    public long lease() {
      return 100 + block;
    }

    @Override
    public int blocks() {
      return 1;
    }

    @Override
    public void release() {
      assertThat(released).as("a lease is released twice").isFalse();
      released = true;
      heldNow--;
    }
  }
}
