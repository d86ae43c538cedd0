package io.orbitkv.core.lifecycle;

/** The life of one rank's grant to write shards. */
public enum SaveState {
  /** The holder may be writing. */
  GRANTED,
  /** The holder vanished without a word: its writes may still be on their way. */
  QUARANTINED,
  /** Ended; the holder writes no more. */
  ENDED;

  /** What can happen to a save. */
  public enum Event {
    /** The holder drained its copies and commits what it copied. */
    COMMIT,
    /** The holder drained its copies and gives up. */
    ABORT,
    /** The holder was lost. */
    LOSE,
    /** The holder was seen fully reaped: nothing of it can write any more. */
    PROVE_GONE
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public SaveState on(Event event) {
    return switch (this) {
      case GRANTED -> switch (event) {
        case COMMIT, ABORT -> ENDED;
        case LOSE -> QUARANTINED;
        case PROVE_GONE -> throw new IllegalTransitionException(this, event);
      };
      case QUARANTINED -> switch (event) {
        case PROVE_GONE -> ENDED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case ENDED -> throw new IllegalTransitionException(this, event);
    };
  }
}
