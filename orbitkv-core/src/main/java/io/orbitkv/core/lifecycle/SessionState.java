package io.orbitkv.core.lifecycle;

/** The life of an engine instance's attachment. */
public enum SessionState {
  /** Serves. */
  OPEN,
  /** Admits nothing; grants of its holders are not ended yet. */
  CLOSING,
  /** Its process vanished; what it was granted is quarantined. */
  LOST,
  /** Nothing of it is left. */
  CLOSED;

  /** What can happen to a session. */
  public enum Event {
    /** It was closed with grants outstanding. */
    CLOSE,
    /** It was closed, or its last grant ended after that, with nothing outstanding. */
    CLOSE_IDLE,
    /** Its connection or process was lost. */
    LOSE,
    /** Its process was seen fully reaped. */
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
        case PROVE_GONE -> CLOSED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case CLOSED -> throw new IllegalTransitionException(this, event);
    };
  }
}
