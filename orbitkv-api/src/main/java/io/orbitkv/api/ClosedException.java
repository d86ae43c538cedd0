package io.orbitkv.api;

/** An operation on a cache, a session or a grant that has ended. */
public final class ClosedException extends OrbitKvException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message what was closed and which operation came too late
   */
  public ClosedException(String message) {
    super(message, null);
  }
}
