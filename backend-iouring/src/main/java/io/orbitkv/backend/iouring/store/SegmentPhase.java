package io.orbitkv.backend.iouring.store;

/** Where a segment is in its life. */
enum SegmentPhase {
  /** Holds nothing. */
  EMPTY,
  /** Its new generation is on the way to the device. */
  ACTIVATING,
  /** Takes appends. */
  ACTIVE,
  /** Its summary is on the way to the device. */
  SEALING,
  /** Closed with a durable summary. */
  SEALED,
  /** Holds extents, takes no appends and has no summary: found so by recovery, or sealing failed. */
  UNSEALED;

  /** What moves a segment on. */
  enum Event {
    ACTIVATE,
    ACTIVATED,
    ACTIVATION_FAILED,
    SEAL,
    SEALED,
    SEAL_FAILED
  }

  /**
   * Returns the phase after an event.
   *
   * @throws IllegalStateException if the event cannot happen in this phase
   */
  SegmentPhase on(Event event, int segment) {
    SegmentPhase next = switch (event) {
      case ACTIVATE -> this == ACTIVATING || this == SEALING ? null : ACTIVATING;
      case ACTIVATED -> this == ACTIVATING ? ACTIVE : null;
      case ACTIVATION_FAILED -> this == ACTIVATING ? EMPTY : null;
      case SEAL -> this == ACTIVE || this == UNSEALED ? SEALING : null;
      case SEALED -> this == SEALING ? SEALED : null;
      case SEAL_FAILED -> this == SEALING ? UNSEALED : null;
    };
    if (next == null) {
      throw new IllegalStateException("segment " + segment + " is " + this + " and cannot take the event " + event);
    }
    return next;
  }
}
