package io.orbitkv.cli.chaos;

/** Where a stand-in is in a request: each is a state of a lifecycle that a fault can hit. */
public enum StandInStep {
  /** Its query was sent; blocks may be on their way from the SSD. */
  ASKED,
  /** It holds a lease. */
  LEASED,
  /** It was granted a restore, and has copied nothing. */
  RESTORE_GRANTED,
  /** Half of its restore is copied. */
  HALF_RESTORED,
  /** Every copy of its restore is submitted. */
  RESTORE_ENQUEUED,
  /** Its restore is drained and its lease given up. */
  RESTORED,
  /** It was granted a save, and has copied nothing. */
  SAVE_GRANTED,
  /** Half of its save is copied. */
  HALF_SAVED,
  /** Its save is copied and not committed. */
  COPIED,
  /** Its save is committed. */
  COMMITTED
}
