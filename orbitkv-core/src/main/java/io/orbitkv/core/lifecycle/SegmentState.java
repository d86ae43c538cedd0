package io.orbitkv.core.lifecycle;

/** The life of a segment of the store. */
public enum SegmentState {
  /** Holds nothing that anyone can reach. */
  FREE,
  /** Its new generation is being made durable. */
  ACTIVATING,
  /** Takes extents, or will when the one before it is full. */
  OPEN,
  /** Takes no more extents; its summary waits for the last writes or is being written. */
  SEALING,
  /** Full. */
  SEALED,
  /** Its extents are carried over or given up. */
  RECLAIMING,
  /** The device refused it; nothing is written to it again. */
  RETIRED;

  /** What can happen to a segment. */
  public enum Event {
    /** It was chosen to be filled next. */
    ACTIVATE,
    /** Its new generation is durable. */
    ACTIVATED,
    /** It has no room left, or recovery found it half filled. */
    SEAL,
    /** Its summary is durable. */
    SEALED,
    /** It was chosen to be emptied. */
    RECLAIM,
    /** Nothing in it is live or in flight. */
    EMPTIED,
    /** The device failed a write to its header or summary. */
    FAIL
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public SegmentState on(Event event) {
    return switch (this) {
      case FREE -> switch (event) {
        case ACTIVATE -> ACTIVATING;
        case SEAL -> SEALING;
        case SEALED -> SEALED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case ACTIVATING -> switch (event) {
        case ACTIVATED -> OPEN;
        case FAIL -> RETIRED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case OPEN -> switch (event) {
        case SEAL -> SEALING;
        default -> throw new IllegalTransitionException(this, event);
      };
      // A summary that cannot be written costs a scan at the next start, nothing else.
      case SEALING -> switch (event) {
        case SEALED, FAIL -> SEALED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case SEALED -> switch (event) {
        case RECLAIM -> RECLAIMING;
        default -> throw new IllegalTransitionException(this, event);
      };
      case RECLAIMING -> switch (event) {
        case EMPTIED -> FREE;
        default -> throw new IllegalTransitionException(this, event);
      };
      case RETIRED -> throw new IllegalTransitionException(this, event);
    };
  }
}
