package io.orbitkv.core.machine;

import java.util.Locale;

/** What an operator should know of and a caller need not: each is counted. */
public enum Fault {
  /** An SSD read found damaged bytes. */
  SSD_READ_CORRUPT,
  /** An SSD read found another extent than expected. */
  SSD_READ_MISMATCH,
  /** The device failed a read. */
  SSD_READ_ERROR,
  /** The device failed a write. */
  SSD_WRITE_ERROR,
  /** A block left memory before its turn to be written came. */
  SSD_WRITE_MISSED,
  /** Blocks on the SSD were given up to make room. */
  SSD_RECLAIMED,
  /** Recovery found a block whose parent is gone. */
  RECOVERY_ORPHAN,
  /** Recovery found a block of another layout than others of its namespace. */
  RECOVERY_LAYOUT,
  /** A block was not saved since its session has as many saves under way as it may. */
  SAVE_BUSY,
  /** A block was not saved since its session is saving as many bytes as it may. */
  SAVE_OVER_BUDGET,
  /** A block was not saved since memory had no room that could be freed. */
  SAVE_NO_MEMORY,
  /** A block was not saved since the block before it is not stored. */
  SAVE_NO_PARENT,
  /** A block was not saved since the policy preferred what is there. */
  SAVE_NOT_ADMITTED,
  /** Ranks did not all commit a block in time. */
  SAVE_INCOMPLETE,
  /** A query was answered busy. */
  QUERY_BUSY,
  /** A query was not polled in time. */
  QUERY_EXPIRED,
  /** A lease was not used in time. */
  LEASE_EXPIRED,
  /** A session vanished without closing. */
  SESSION_LOST;

  /** Returns the name under which it is reported. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
