package io.orbitkv.api;

/** A request, a setting or a value that OrbitKV will not accept. Nothing was changed and nothing was lost. */
public final class RefusedException extends OrbitKvException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message the value, what was expected and what to do
   */
  public RefusedException(String message) {
    super(message, null);
  }

  /**
   * @param message the value, what was expected and what to do
   * @param cause what revealed the mistake
   */
  public RefusedException(String message, Throwable cause) {
    super(message, cause);
  }
}
