package io.orbitkv.core.lifecycle;

/** The life of one rank's grant to read a leased prefix. Only the holder ends it, or proof that the holder is gone. */
public enum RestoreState {
  /** The holder may be submitting copies. */
  GRANTED,
  /** All copies are submitted. */
  ENQUEUED,
  /** The holder vanished without a word: its copies may still be reading. */
  QUARANTINED,
  /** No copy reads any more; the source is released. */
  RETIRED;

  /** What can happen to a restore. */
  public enum Event {
    /** The holder submitted its last copy. */
    ENQUEUE,
    /** The holder's last copy is complete. */
    DRAIN,
    /** The holder was lost. */
    LOSE,
    /** The holder was seen fully reaped: nothing of it can read any more. */
    PROVE_GONE
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public RestoreState on(Event event) {
    return switch (this) {
      case GRANTED -> switch (event) {
        case ENQUEUE -> ENQUEUED;
        case DRAIN -> RETIRED;
        case LOSE -> QUARANTINED;
        case PROVE_GONE -> throw new IllegalTransitionException(this, event);
      };
      case ENQUEUED -> switch (event) {
        case DRAIN -> RETIRED;
        case LOSE -> QUARANTINED;
        case ENQUEUE, PROVE_GONE -> throw new IllegalTransitionException(this, event);
      };
      case QUARANTINED -> switch (event) {
        case PROVE_GONE -> RETIRED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case RETIRED -> throw new IllegalTransitionException(this, event);
    };
  }
}
