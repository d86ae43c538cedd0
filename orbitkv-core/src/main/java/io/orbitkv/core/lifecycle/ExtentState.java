package io.orbitkv.core.lifecycle;

/**
 * The life of a block's extent on the SSD. A row of the block table holds it as its ordinal. Reads under way pin the
 * whole segment of a committed extent, which is not emptied before they end.
 */
public enum ExtentState {
  /** Not on the SSD. */
  ABSENT,
  /** In memory only, waiting for its turn to be written. */
  DIRTY,
  /** A write was submitted. */
  WRITING,
  /** On the SSD. */
  COMMITTED;

  /** What can happen to a block's extent. */
  public enum Event {
    /** The block became resident and is wanted on the SSD. */
    ENQUEUE,
    /** The write was submitted. */
    WRITE,
    /** The write ended well. */
    COMMIT,
    /** Recovery found it. */
    RECOVER,
    /** The write failed. */
    FAIL,
    /** It is given up: its segment is reclaimed, an ancestor's extent is gone, or its block left memory unwritten. */
    RECLAIM,
    /** A read found other bytes than were written. */
    INVALIDATE
  }

  private static final ExtentState[] STATES = values();

  /** Returns the state with an ordinal. */
  public static ExtentState of(int ordinal) {
    return STATES[ordinal];
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public ExtentState on(Event event) {
    return switch (this) {
      case ABSENT -> switch (event) {
        case ENQUEUE -> DIRTY;
        case RECOVER -> COMMITTED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case DIRTY -> switch (event) {
        case WRITE -> WRITING;
        case RECLAIM -> ABSENT;
        default -> throw new IllegalTransitionException(this, event);
      };
      case WRITING -> switch (event) {
        case COMMIT -> COMMITTED;
        case FAIL, RECLAIM -> ABSENT;
        default -> throw new IllegalTransitionException(this, event);
      };
      case COMMITTED -> switch (event) {
        case RECLAIM, INVALIDATE -> ABSENT;
        default -> throw new IllegalTransitionException(this, event);
      };
    };
  }
}
