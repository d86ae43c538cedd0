package io.orbitkv.core.agent;

import io.orbitkv.core.lifecycle.IllegalTransitionException;

/** The life of a load or a save from the moment its copies are submitted. */
enum TransferState {
  /** Copies may be under way. */
  COPYING,
  /** Copies may be under way, and nobody wants what they bring. */
  UNWANTED,
  /** No copy runs any more. */
  DRAINED,
  /** The engine was told: the pages are its own again. */
  REPORTED;

  enum Event {
    /** The engine lost interest. */
    CANCEL,
    /** The device finished the last copy. */
    DRAIN,
    /** The report was handed over. */
    REPORT
  }

  TransferState on(Event event) {
    return switch (this) {
      case COPYING -> switch (event) {
        case CANCEL -> UNWANTED;
        case DRAIN -> DRAINED;
        case REPORT -> throw new IllegalTransitionException(this, event);
      };
      case UNWANTED -> switch (event) {
        case CANCEL -> UNWANTED;
        case DRAIN -> DRAINED;
        case REPORT -> throw new IllegalTransitionException(this, event);
      };
      case DRAINED -> switch (event) {
        // It came too late: there is nothing left to be uninterested in.
        case CANCEL -> DRAINED;
        case REPORT -> REPORTED;
        case DRAIN -> throw new IllegalTransitionException(this, event);
      };
      case REPORTED -> throw new IllegalTransitionException(this, event);
    };
  }
}
