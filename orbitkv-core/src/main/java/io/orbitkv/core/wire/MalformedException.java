package io.orbitkv.core.wire;

import java.io.IOException;

/**
 * Bytes that are no message of the protocol. What follows them cannot be told apart any more: the connection is to be
 * closed.
 */
public final class MalformedException extends IOException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message the field, what was expected and what was found
   */
  public MalformedException(String message) {
    super(message);
  }
}
