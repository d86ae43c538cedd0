package io.orbitkv.core.lifecycle;

/** The life of an engine instance's attachment. */
public enum SessionState {
  /** Serves. */
  OPEN,
  /** Admits nothing; grants of its holders are not ended yet. */
  CLOSING,
  /**
   * Ranks of it vanished: what they were granted is quarantined, and grants of the others are not ended yet. Admits
   * nothing.
   */
  LOST,
  /** Nothing of it is left. */
  CLOSED;

  /** What can happen to a session. */
  public enum Event {
    /** It was closed with grants outstanding. */
    CLOSE,
    /** It was closed with nothing outstanding, or its last grant ended after it was closed or lost. */
    CLOSE_IDLE,
    /** The connections or processes of some of its ranks, or of all, were lost. */
    LOSE,
    /** The processes of some of its ranks, or of all, were seen fully reaped. */
    PROVE_GONE
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public SessionState on(Event event) {
    return switch (this) {
      case OPEN -> switch (event) {
        case CLOSE -> CLOSING;
        case CLOSE_IDLE -> CLOSED;
        case LOSE -> LOST;
        case PROVE_GONE -> throw new IllegalTransitionException(this, event);
      };
      case CLOSING -> switch (event) {
        case CLOSE_IDLE -> CLOSED;
        case LOSE -> LOST;
        case CLOSE, PROVE_GONE -> throw new IllegalTransitionException(this, event);
      };
      case LOST -> switch (event) {
        case LOSE, PROVE_GONE -> LOST;
        case CLOSE_IDLE -> CLOSED;
        case CLOSE -> throw new IllegalTransitionException(this, event);
      };
      case CLOSED -> throw new IllegalTransitionException(this, event);
    };
  }
}
