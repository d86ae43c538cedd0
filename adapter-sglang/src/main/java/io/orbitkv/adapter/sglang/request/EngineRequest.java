package io.orbitkv.adapter.sglang.request;

import io.orbitkv.adapter.sglang.request.RequestState.Event;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.lookup.Finding;
import io.orbitkv.core.lookup.Hold;
import io.orbitkv.core.lookup.Question;
import java.util.BitSet;

/** One chain that some ranks ask about for one request, and what was found. Used by one thread at a time. */
final class EngineRequest {

  private final PrefixChain chain;
  private final Asker asker;
  private final BitSet interested = new BitSet();
  private RequestState state = RequestState.ASKING;
  private Question question;
  private Hold hold;
  private int ownBlocks;
  private long askedNanos;
  private long missedNanos;
  private long renewedNanos;

  /** Who asks the cache. */
  @FunctionalInterface
  interface Asker {

    /** Asks what can be restored of a chain behind the engine's own blocks. */
    Question ask(PrefixChain chain, int ownBlocks);
  }

  /** Asks. */
  EngineRequest(PrefixChain chain, int ownBlocks, Asker asker, long now) {
    this.chain = chain;
    this.asker = asker;
    begin(ownBlocks, now);
  }

  private void begin(int own, long now) {
    question = asker.ask(chain, own);
    ownBlocks = own;
    askedNanos = now;
  }

  RequestState state() {
    return state;
  }

  PrefixChain chain() {
    return chain;
  }

  boolean isOf(Digest last) {
    return chain.hash(chain.blocks() - 1).equals(last);
  }

  /** Returns how many blocks the engine had itself when the cache was asked. */
  int ownBlocks() {
    return ownBlocks;
  }

  /** A rank asks, now. */
  void renew(int rank, long now) {
    interested.set(rank);
    renewedNanos = now;
  }

  /** A rank is not interested any more. Returns whether nobody is. */
  boolean giveUp(int rank) {
    interested.clear(rank);
    return interested.isEmpty();
  }

  /** Returns for how long nobody has asked. */
  long idleNanos(long now) {
    return now - renewedNanos;
  }

  /** Returns for how long the question has been under way. */
  long askingNanos(long now) {
    return now - askedNanos;
  }

  /** Returns since when there is nothing. */
  long missedNanos(long now) {
    return now - missedNanos;
  }

  Hold hold() {
    return hold;
  }

  void ask(int own, long now) {
    state = state.on(Event.ASK);
    begin(own, now);
  }

  Finding look() {
    return question.look();
  }

  /** Waits for the SSD no longer. */
  Finding settle() {
    question.settle();
    return question.look();
  }

  void hold(Hold found) {
    state = state.on(Event.HOLD);
    hold = found;
    question = null;
  }

  void miss(long now) {
    state = state.on(Event.MISS);
    question.drop();
    question = null;
    missedNanos = now;
  }

  /** Gives up what there is. */
  void end() {
    state = state.on(Event.END);
    if (question != null) {
      question.drop();
      question = null;
    }
    if (hold != null) {
      hold.release();
      hold = null;
    }
  }
}
