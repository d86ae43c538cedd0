package io.orbitkv.adapter.vllm.request;

import io.orbitkv.core.lifecycle.IllegalTransitionException;

/** Where a request is between the engine's waiting queue and its last report. */
enum RequestState {
  /** In the waiting queue; nothing is asked or held for it. */
  WAITING,
  /** In the waiting queue; its blocks are being asked for. */
  DEFERRED,
  /** In the waiting queue; its blocks are held. */
  LEASED,
  /** Workers have the order to load its blocks, and not all have reported. */
  LOADING,
  /** Its blocks are in its pages, and it waits for its turn. */
  LOADED,
  /** It has pages and is computed. */
  COMPUTING,
  /** The engine has forgotten it, and workers have not reported all that they were ordered for it. */
  ENDING,
  /** Nothing of it is left. */
  GONE;

  enum Event {
    /** The cache is being asked. */
    DEFER,
    /** The cache holds its blocks. */
    HOLD,
    /** There is nothing to load, or no longer. */
    MISS,
    /** It got pages, and its blocks are ordered to be loaded into them. */
    LOAD,
    /** It got pages, or goes on in those that it has. */
    COMPUTE,
    /** Every rank has reported the load, and has every block. */
    LOADED,
    /** Every rank has reported the load, and some block is missing. */
    FAILED,
    /** It lost its pages. */
    PREEMPT,
    /** The engine has forgotten it. */
    FINISH,
    /** The last report that was waited for has come. */
    DRAIN
  }

  /** Returns whether it lies in the engine's waiting queue, where lookups ask for it. */
  boolean isAsked() {
    return this == WAITING || this == DEFERRED || this == LEASED;
  }

  /** Returns whether it has pages that it can lose. */
  boolean hasPages() {
    return this == LOADED || this == COMPUTING;
  }

  RequestState on(Event event) {
    return switch (event) {
      case DEFER -> from(event, this == WAITING || this == DEFERRED, DEFERRED);
      case HOLD -> from(event, isAsked(), LEASED);
      case MISS -> from(event, isAsked(), WAITING);
      case LOAD -> from(event, this == LEASED, LOADING);
      case COMPUTE -> from(event, isAsked() || hasPages(), COMPUTING);
      case LOADED -> from(event, this == LOADING, LOADED);
      case FAILED -> from(event, this == LOADING, WAITING);
      case PREEMPT -> from(event, hasPages(), WAITING);
      case FINISH -> from(event, this != ENDING && this != GONE, ENDING);
      case DRAIN -> from(event, this == ENDING, GONE);
    };
  }

  private RequestState from(Event event, boolean expected, RequestState next) {
    if (!expected) {
      throw new IllegalTransitionException(this, event);
    }
    return next;
  }
}
