package io.orbitkv.api;

/** Something that this machine, its limits or its files do not grant at present. The message names the remedy. */
public final class UnavailableException extends OrbitKvException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message what is missing, what was found and which knob changes it
   */
  public UnavailableException(String message) {
    super(message, null);
  }

  /**
   * @param message what is missing, what was found and which knob changes it
   * @param cause the failure underneath
   */
  public UnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
