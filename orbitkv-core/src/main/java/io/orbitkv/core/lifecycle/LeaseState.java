package io.orbitkv.core.lifecycle;

/** The life of a lease: it pins its prefix in every state but the last. */
public enum LeaseState {
  /** Ranks may take their shares. */
  HELD,
  /** No share can be taken any more; restores that were granted are not drained yet. */
  DRAINING,
  /** Nothing of it is in use; its bytes are free. */
  RETIRED;

  /** What can happen to a lease. */
  public enum Event {
    /** A rank takes its share; others are left. */
    TAKE,
    /** A rank takes the last share. */
    TAKE_LAST,
    /** The holder, or its expiry, gives up the untaken shares while restores are under way. */
    CLOSE,
    /** The holder, or its expiry, gives up the untaken shares and no restore is under way. */
    CLOSE_IDLE,
    /** A restore drained; others are under way, or shares can still be taken. */
    DRAIN,
    /** The last restore of a lease without untaken shares drained. */
    DRAIN_LAST
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public LeaseState on(Event event) {
    return switch (this) {
      case HELD -> switch (event) {
        case TAKE, DRAIN -> HELD;
        case TAKE_LAST, CLOSE -> DRAINING;
        case CLOSE_IDLE -> RETIRED;
        case DRAIN_LAST -> throw new IllegalTransitionException(this, event);
      };
      case DRAINING -> switch (event) {
        case DRAIN -> DRAINING;
        case DRAIN_LAST -> RETIRED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case RETIRED -> throw new IllegalTransitionException(this, event);
    };
  }
}
