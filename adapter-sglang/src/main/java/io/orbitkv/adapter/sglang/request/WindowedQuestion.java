package io.orbitkv.adapter.sglang.request;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.lookup.Finding;
import io.orbitkv.core.lookup.Hold;
import io.orbitkv.core.lookup.Question;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Asks for the longest prefix that ends with a whole sliding window: first for the longest prefix, then for the blocks
 * of the window at its end. If one of those is missing, no window that has it counts, and the search goes on before it.
 */
final class WindowedQuestion implements Question {

  static final String NO_WINDOW = "no_window";

  /** Most blocks that one search asks about: a search takes no longer than some milliseconds. */
  static final int MAX_ASKED = 256;

  /** Most that are asked about at the same time, so that reads from the SSD are. */
  private static final int AT_ONCE = 16;

  private final PrefixChain chain;
  private final int ownBlocks;
  private final SlidingWindow window;
  private final Question prefixQuestion;
  private final NavigableMap<Integer, Question> open = new TreeMap<>();
  private final NavigableMap<Integer, Hold> held = new TreeMap<>();
  private Hold prefix;
  private int end;
  private int asked;
  private boolean settled;
  private boolean dropped;

  /**
   * Goes on from a question about the prefix.
   *
   * @param chain what is asked about
   * @param ownBlocks leading blocks that the engine has itself, with the window at their end
   * @param prefixQuestion about the same chain, taken over
   * @param window what must be there at the end of a prefix
   */
  WindowedQuestion(PrefixChain chain, int ownBlocks, Question prefixQuestion, SlidingWindow window) {
    this.chain = chain;
    this.ownBlocks = ownBlocks;
    this.prefixQuestion = prefixQuestion;
    this.window = window;
  }

  @Override
  public Finding look() {
    if (prefix == null) {
      Finding found = prefixQuestion.look();
      if (!(found instanceof Finding.Held(Hold hold))) {
        return found;
      }
      prefix = hold;
      end = hold.blocks();
    }
    while (end > ownBlocks) {
      int first = Math.max(ownBlocks, end - window.blocks());
      // The first block is in every window that ends behind it, so without it all of those are out of the question.
      int block = held.containsKey(first) ? lastMissing(first) : first;
      if (block < first) {
        return new Finding.Held(new WindowedHold(prefix, end, new ArrayList<>(held.tailMap(first).values())));
      }
      ask(first, block);
      Question question = open.get(block);
      if (question == null) {
        break;
      }
      switch (question.look()) {
        case Finding.Open still -> {
          return still;
        }
        case Finding.Held(Hold hold) -> {
          open.remove(block);
          held.put(block, hold);
        }
        case Finding.Nothing _ -> {
          open.remove(block);
          cut(block);
        }
      }
    }
    drop();
    return new Finding.Nothing(NO_WINDOW);
  }

  /** Returns the last block from {@code first} to the end that is not held; one before {@code first} if all are. */
  private int lastMissing(int first) {
    int block = end - 1;
    while (block >= first && held.containsKey(block)) {
      block--;
    }
    return block;
  }

  /** Asks about a block, and about those before it in the window that are not known. */
  private void ask(int first, int block) {
    for (int each = block; each >= first && (each == block || open.size() < AT_ONCE) && asked < MAX_ASKED; each--) {
      if (!held.containsKey(each) && !open.containsKey(each)) {
        Question question = window.questions().ask(PrefixChain.of(List.of(chain.hash(each))));
        if (settled) {
          question.settle();
        }
        open.put(each, question);
        asked++;
      }
    }
  }

  /** No window has this block, so none ends behind it. */
  private void cut(int block) {
    end = block;
    giveUp(block);
  }

  private void giveUp(int from) {
    open.tailMap(from).values().forEach(Question::drop);
    open.tailMap(from).clear();
    held.tailMap(from).values().forEach(Hold::release);
    held.tailMap(from).clear();
  }

  @Override
  public void settle() {
    settled = true;
    if (prefix == null) {
      prefixQuestion.settle();
    }
    open.values().forEach(Question::settle);
  }

  @Override
  public void drop() {
    if (dropped) {
      return;
    }
    dropped = true;
    giveUp(0);
    if (prefix == null) {
      prefixQuestion.drop();
    } else {
      prefix.release();
    }
  }
}
