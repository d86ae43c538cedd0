package io.orbitkv.api.spi;

/** How a request to a store ended. */
public enum StoreStatus {
  /** Complete; lengths checked and, for a read, header and checksums verified. */
  OK,
  /** The device or file system refused or failed the transfer (EIO and the like). */
  IO_ERROR,
  /** No space is left on the device (ENOSPC, EDQUOT). */
  NO_SPACE,
  /** The file system accepts no writes (EROFS). */
  READ_ONLY,
  /** The record's header is not the one expected: another key, place or generation, or damage. */
  MISMATCH,
  /** The header is right and the bytes are not. */
  CORRUPT,
  /** The store was closed before the request was submitted. */
  CLOSED
}
