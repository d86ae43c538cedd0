package io.orbitkv.adapter.sglang.request;

import io.orbitkv.core.lifecycle.IllegalTransitionException;

/** What the adapter has for a request. */
enum RequestState {
  /** A question under way. */
  ASKING,
  /** A lease. */
  HELD,
  /** Nothing: the cache had none, or it took too long. */
  MISSED,
  /** Nothing, and nobody is interested any more. */
  GONE;

  /** What happens to a request. */
  enum Event {
    /** The cache is asked anew. */
    ASK,
    /** It holds leading blocks. */
    HOLD,
    /** It has nothing. */
    MISS,
    /** The last interest has ended: given up, replaced, its rank gone, or not renewed in time. */
    END
  }

  /** Returns the next state. */
  RequestState on(Event event) {
    return switch (event) {
      case ASK -> from(event, this == MISSED, ASKING);
      case HOLD -> from(event, this == ASKING, HELD);
      case MISS -> from(event, this == ASKING, MISSED);
      case END -> from(event, this != GONE, GONE);
    };
  }

  private RequestState from(Event event, boolean legal, RequestState next) {
    if (!legal) {
      throw new IllegalTransitionException(this, event);
    }
    return next;
  }
}
