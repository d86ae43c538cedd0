package io.orbitkv.cli.terminal;

/** Shows how far a task is. Used by one thread. */
public interface Progress extends AutoCloseable {

  /** A progress that shows nothing. */
  Progress SILENT = done -> {};

  /**
   * States how far the task is.
   *
   * @param done steps done, never fewer than before
   */
  void advanceTo(long done);

  /** Ends the display. */
  @Override
  default void close() {}
}
