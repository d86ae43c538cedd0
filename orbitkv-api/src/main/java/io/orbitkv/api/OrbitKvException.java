package io.orbitkv.api;

/**
 * An error that OrbitKV reports on purpose. The message names the value, what was expected and what to do; it is meant
 * to be shown to an operator as it stands, without a stack trace.
 *
 * <p>A fault of the cache itself never reaches an engine as an exception: it is a miss. These errors report a mistake
 * of a caller, a machine that lacks something, or a cache that is closed.
 */
public sealed class OrbitKvException extends RuntimeException
    permits RefusedException, UnavailableException, ClosedException {

  private static final long serialVersionUID = 1L;

  OrbitKvException(String message, Throwable cause) {
    super(message, cause);
  }
}
