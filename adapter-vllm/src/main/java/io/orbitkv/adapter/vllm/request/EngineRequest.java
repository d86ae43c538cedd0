package io.orbitkv.adapter.vllm.request;

import io.orbitkv.core.lookup.Hold;
import io.orbitkv.core.lookup.Question;

/**
 * One request of the engine: its state, and what is asked, held and ordered for it. What a state does not have is given
 * up when the state is left, so that no lease outlives its reason.
 */
final class EngineRequest {

  private final String id;
  private final RequestChain chain = new RequestChain();
  private final RequestPages pages = new RequestPages();
  private final SaveCursor cursor = new SaveCursor();
  private RequestState state = RequestState.WAITING;

  /** In state {@code DEFERRED}, and only there. */
  private Question question;
  /** In state {@code LEASED}, and from there until its load is reported. */
  private Hold hold;
  private Inquiry inquiry = new Inquiry();
  private int loadingBlocks;
  private long series;
  private int savesUnderWay;
  private boolean unloadable;
  private boolean outdated;

  EngineRequest(String id) {
    this.id = id;
  }

  String id() {
    return id;
  }

  RequestState state() {
    return state;
  }

  RequestChain chain() {
    return chain;
  }

  RequestPages pages() {
    return pages;
  }

  SaveCursor cursor() {
    return cursor;
  }

  Question question() {
    return question;
  }

  Hold hold() {
    return hold;
  }

  /** Returns what the engine has asked since the request was in its pages last. */
  Inquiry inquiry() {
    return inquiry;
  }

  // ---- what happens to it

  /** Its blocks are being asked for. */
  void deferred(Question asked) {
    state = state.on(RequestState.Event.DEFER);
    question = asked;
  }

  /** Its blocks are held. */
  void held(Hold held) {
    state = state.on(RequestState.Event.HOLD);
    question = null;
    hold = held;
    cursor.skipTo(held.blocks());
  }

  /** There is nothing to load. */
  void missed() {
    state = state.on(RequestState.Event.MISS);
    giveUp();
  }

  /** Its held blocks are ordered to be loaded; the lease is the workers' now. */
  void loading(int blocks) {
    state = state.on(RequestState.Event.LOAD);
    inquiry = new Inquiry();
    loadingBlocks = blocks;
  }

  /** It is computed from here on. */
  void computing() {
    state = state.on(RequestState.Event.COMPUTE);
    inquiry = new Inquiry();
    giveUp();
  }

  /**
   * Its load is over.
   *
   * @return how many blocks it was of
   */
  int loadEnded(boolean loaded) {
    if (state == RequestState.ENDING) {
      releaseHold();
    } else {
      state = state.on(loaded ? RequestState.Event.LOADED : RequestState.Event.FAILED);
      releaseHold();
      if (!loaded) {
        loadFailed();
      }
    }
    int blocks = loadingBlocks;
    loadingBlocks = 0;
    return blocks;
  }

  /** A load of it failed: it is not tried again, and what was thought to be stored may be saved again. */
  void loadFailed() {
    unloadable = true;
    cursor.restart();
  }

  /** It lost its pages. */
  void preempted() {
    state = state.on(RequestState.Event.PREEMPT);
    inquiry = new Inquiry();
    pages.replace(new int[0]);
    cursor.restart();
    outdated = false;
  }

  /**
   * It got pages while it had some. If they are the same, another connector may have put into them what it brought, and
   * that is as old as the request's first page.
   */
  void givenPages(boolean same) {
    boolean wasOutdated = outdated;
    preempted();
    outdated = same && wasOutdated;
  }

  /** The engine has forgotten it. */
  void finished() {
    boolean loading = isLoading();
    state = state.on(RequestState.Event.FINISH);
    if (!loading) {
      giveUp();
    }
  }

  /** Whatever was ordered for it is reported. */
  void drained() {
    state = state.on(RequestState.Event.DRAIN);
  }

  /** From now on its blocks have other names, and those that were computed before must get none of them. */
  void renamed() {
    outdated |= state.hasPages();
    if (state.isAsked()) {
      missed();
    }
    inquiry = new Inquiry();
    cursor.rename();
  }

  private void giveUp() {
    if (question != null) {
      question.drop();
      question = null;
    }
    releaseHold();
  }

  private void releaseHold() {
    if (hold != null) {
      hold.release();
      hold = null;
    }
  }

  // ---- what is ordered for it

  boolean isLoading() {
    return loadingBlocks > 0;
  }

  /** Returns whether nothing is to be loaded for it any more. */
  boolean isUnloadable() {
    return unloadable;
  }

  /** Returns whether what it has computed may be saved. */
  boolean isSavable() {
    return state == RequestState.COMPUTING && !outdated;
  }

  /** Returns the number of its series; zero if no save of it was ordered. */
  long series() {
    return series;
  }

  void saveOrdered(long ofSeries) {
    series = ofSeries;
    savesUnderWay++;
  }

  void saveEnded() {
    savesUnderWay--;
  }

  /** Returns whether workers have orders for it that they have not reported. */
  boolean hasOrders() {
    return isLoading() || savesUnderWay > 0;
  }

  /** Whatever is asked or held for it is given up; orders are the workers'. */
  void abandon() {
    giveUp();
  }
}
