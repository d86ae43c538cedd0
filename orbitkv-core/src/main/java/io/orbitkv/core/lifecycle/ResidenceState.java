package io.orbitkv.core.lifecycle;

/** The life of a block's bytes in memory. A row of the block table holds it as its ordinal. */
public enum ResidenceState {
  /** Not in memory. */
  ABSENT,
  /** An extent is taken and ranks write their shards. */
  FILLING,
  /** An extent is taken and the SSD writes it. */
  LOADING,
  /** All bytes are there, its parent's are not: nobody can see it. */
  COMPLETE,
  /** All bytes are there, and all its ancestors'. */
  RESIDENT;

  /** What can happen to a block's bytes in memory. */
  public enum Event {
    /** The first rank was granted room for its shard. */
    GRANT,
    /** A read was submitted. */
    READ,
    /** The last shard was committed, or the read ended well. */
    COMPLETE,
    /** The parent became resident, or there is none. */
    PROMOTE,
    /** The bytes will never be complete, or can never be seen. */
    DROP,
    /** It left to make room. */
    EVICT
  }

  private static final ResidenceState[] STATES = values();

  /** Returns the state with an ordinal. */
  public static ResidenceState of(int ordinal) {
    return STATES[ordinal];
  }

  /**
   * Returns the state after an event.
   *
   * @throws IllegalTransitionException if this state does not expect it
   */
  public ResidenceState on(Event event) {
    return switch (this) {
      case ABSENT -> switch (event) {
        case GRANT -> FILLING;
        case READ -> LOADING;
        default -> throw new IllegalTransitionException(this, event);
      };
      case FILLING, LOADING -> switch (event) {
        case COMPLETE -> COMPLETE;
        case DROP -> ABSENT;
        default -> throw new IllegalTransitionException(this, event);
      };
      case COMPLETE -> switch (event) {
        case PROMOTE -> RESIDENT;
        case DROP -> ABSENT;
        default -> throw new IllegalTransitionException(this, event);
      };
      case RESIDENT -> switch (event) {
        case EVICT -> ABSENT;
        default -> throw new IllegalTransitionException(this, event);
      };
    };
  }
}
