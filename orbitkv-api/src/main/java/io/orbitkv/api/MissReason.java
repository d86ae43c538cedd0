package io.orbitkv.api;

/** Why the blocks behind the end of a hit were not served. */
public enum MissReason {
  /** Every block that was asked for was served. */
  NONE,
  /** The next block is not stored under this name. */
  NOT_STORED,
  /** The next block was on the SSD and could not be read, or its bytes failed their checksum. */
  FAILED_READ,
  /** DRAM had no room that could be freed for the next block, which is on the SSD, or ranks were just writing it there. */
  NO_MEMORY,
  /** The query alone is larger than a byte budget; waiting would not help. */
  OVER_BUDGET,
  /** The node Manager cannot be reached, or the instance's registration with it has ended; it is tried again. */
  UNAVAILABLE
}
