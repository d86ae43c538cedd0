package io.orbitkv.core.lifecycle;

/** The life of a query. */
public enum TicketState {
  /** Validated, not yet looked up. */
  SUBMITTED,
  /** Admitted and charged; reads from the SSD are under way. */
  PENDING,
  /** Answered with a lease that nobody has fetched yet. */
  READY,
  /** Answered with a miss, or its lease was handed over. */
  DELIVERED,
  /** Not admitted. */
  BUSY,
  /** Not polled in time. */
  EXPIRED,
  /** Interest was dropped. */
  CANCELLED;

  /** What can happen to a query. */
  public enum Event {
    /** The lookup found nothing to lease. */
    MISS,
    /** The lookup found everything in memory, or the last read ended. */
    RESIDENT,
    /** Reads were submitted. */
    READS_SUBMITTED,
    /** A bound is met. */
    REFUSE,
    /** The caller fetched the lease. */
    CLAIM,
    /** The caller, a higher revision or the end of the session dropped it. */
    CANCEL,
    /** Its deadline passed. */
    EXPIRE
  }

  /** Returns whether nothing can happen any more. */
  public boolean isFinal() {
    return this == DELIVERED || this == BUSY || this == EXPIRED || this == CANCELLED;
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public TicketState on(Event event) {
    return switch (this) {
      case SUBMITTED -> switch (event) {
        case MISS -> DELIVERED;
        case RESIDENT -> READY;
        case READS_SUBMITTED -> PENDING;
        case REFUSE -> BUSY;
        default -> throw new IllegalTransitionException(this, event);
      };
      case PENDING -> switch (event) {
        case MISS -> DELIVERED;
        case RESIDENT -> READY;
        case CANCEL -> CANCELLED;
        case EXPIRE -> EXPIRED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case READY -> switch (event) {
        case CLAIM -> DELIVERED;
        case CANCEL -> CANCELLED;
        case EXPIRE -> EXPIRED;
        default -> throw new IllegalTransitionException(this, event);
      };
      case DELIVERED, BUSY, EXPIRED, CANCELLED -> throw new IllegalTransitionException(this, event);
    };
  }
}
