package io.orbitkv.cli;

/** What the process says to a shell. */
final class ExitCode {

  /** Done, and what was to be shown was shown. */
  static final int OK = 0;

  /** The work was begun and failed: a wrong byte, a machine that lacks something, an unforeseen error. */
  static final int FAILED = 1;

  /** The command line asks for something that cannot be. */
  static final int USAGE = 2;

  private ExitCode() {}
}
