package io.orbitkv.adapter.vllm.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.lookup.Finding;
import io.orbitkv.core.lookup.Hold;
import io.orbitkv.core.lookup.Question;
import io.orbitkv.core.lookup.Questions;
import java.util.ArrayList;
import java.util.List;

/** A cache that has what a test says, and knows what is asked of it and held. */
final class FakeQuestions implements Questions {

  final List<FakeQuestion> asked = new ArrayList<>();
  final List<FakeHold> holds = new ArrayList<>();

  /** How many leading blocks are in memory. */
  int inMemory;

  /** How many more are on the SSD. */
  int onSsd;

  /** Whether what is on the SSD has been read. */
  boolean isRead;

  /** Whether nobody answers. */
  boolean hangs;

  @Override
  public Question ask(PrefixChain chain) {
    FakeQuestion question = new FakeQuestion(chain);
    asked.add(question);
    return question;
  }

  long heldNow() {
    return holds.stream().filter(hold -> !hold.released).count();
  }

  long underWay() {
    return asked.stream().filter(question -> !question.ended).count();
  }

  final class FakeQuestion implements Question {

    final PrefixChain chain;
    boolean ended;
    private boolean settled;

    private FakeQuestion(PrefixChain chain) {
      this.chain = chain;
    }

    @Override
    public Finding look() {
      assertThat(ended).as("a question that has ended is looked at").isFalse();
      int memory = Math.min(inMemory, chain.blocks());
      int all = Math.min(inMemory + onSsd, chain.blocks());
      if (hangs || all > memory && !isRead && !settled) {
        return new Finding.Open();
      }
      ended = true;
      int blocks = settled && !isRead ? memory : all;
      if (blocks == 0) {
        return new Finding.Nothing("not_stored");
      }
      FakeHold hold = new FakeHold(holds.size() + 1, blocks);
      holds.add(hold);
      return new Finding.Held(hold);
    }

    @Override
    public void settle() {
      settled = true;
    }

    @Override
    public void drop() {
      ended = true;
    }
  }

  static final class FakeHold implements Hold {

    private final long lease;
    private final int blocks;
    boolean released;

    private FakeHold(long lease, int blocks) {
      this.lease = lease;
      this.blocks = blocks;
    }

    @Override
    public long lease() {
      return lease;
    }

    @Override
    public int blocks() {
      return blocks;
    }

    @Override
    public void release() {
      assertThat(released).as("a lease is released twice").isFalse();
      released = true;
    }
  }
}
