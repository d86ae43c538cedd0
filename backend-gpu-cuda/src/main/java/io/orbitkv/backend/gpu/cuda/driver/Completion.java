package io.orbitkv.backend.gpu.cuda.driver;

/**
 * What the driver says of work that was enqueued.
 *
 * @param state how it stands
 * @param reason the driver's error, if that is not known
 */
public record Completion(State state, String reason) {

  /** How work stands. */
  public enum State {
    /** All of it is complete. */
    COMPLETE,
    /** Not all of it is. */
    PENDING,
    /**
     * The driver cannot say any more: the GPU or this process's context of it failed. Memory that the work uses is in
     * unknown hands until the process has ended.
     */
    UNKNOWN
  }

  static final Completion COMPLETE = new Completion(State.COMPLETE, "");
  static final Completion PENDING = new Completion(State.PENDING, "");

  static Completion unknown(String reason) {
    return new Completion(State.UNKNOWN, reason);
  }
}
