package io.orbitkv.adapter.vllm.request;

/** What the engine has asked about one request of its waiting queue, and what it was told. */
final class Inquiry {

  /**
   * For how long a request that was told that there is nothing is told so again. The engine asks anew in every step in
   * which it has no pages for the request, and what was not stored a moment ago is not stored now.
   */
  static final long MISS_NANOS = 100_000_000;

  private boolean asked;
  private int ownBlocks;
  private int tokens;
  private int answeredTokens;
  private boolean deferred;
  private long deferredUntil;
  private boolean missed;
  private long missedAt;

  /** The engine asks. What it was told before does not count any more. */
  void asked(int own, int totalTokens) {
    asked = true;
    ownBlocks = own;
    tokens = totalTokens;
    answeredTokens = 0;
  }

  boolean isAsked() {
    return asked;
  }

  /** Returns how many blocks the engine has itself. */
  int ownBlocks() {
    return ownBlocks;
  }

  /** Returns how many tokens may be answered for, the engine's own included. */
  int tokens() {
    return tokens;
  }

  /** Returns how many tokens behind its own the engine was told that it can load. */
  int answeredTokens() {
    return answeredTokens;
  }

  void answered(int tokensBehind) {
    answeredTokens = tokensBehind;
  }

  /** It is deferred. Returns whether it is for the first time: the limit counts from then on. */
  boolean deferred(long now, long limitNanos) {
    boolean first = !deferred;
    if (first) {
      deferred = true;
      deferredUntil = now + limitNanos;
    }
    return first;
  }

  /** Returns whether it may not be deferred, or not any longer. */
  boolean isOverdue(long now, long limitNanos) {
    return limitNanos == 0 || deferred && now - deferredUntil >= 0;
  }

  /** The cache has nothing. */
  void missed(long now) {
    missed = true;
    missedAt = now;
  }

  boolean hasJustMissed(long now) {
    return missed && now - missedAt < MISS_NANOS;
  }
}
