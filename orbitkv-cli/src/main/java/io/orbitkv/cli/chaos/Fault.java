package io.orbitkv.cli.chaos;

/** What is done to a process or its socket. */
enum Fault {
  /** {@code kill -9} of an engine; another takes its place. */
  ENGINE_KILLED(30),
  /** An engine is stopped for some time, and goes on. */
  ENGINE_STOPPED(20),
  /** The connection of an engine is cut while both sides live. */
  CONNECTION_CUT(20),
  /** {@code kill -9} of the Manager; another takes its place. */
  MANAGER_KILLED(12),
  /** The Manager is stopped for some time, and goes on. */
  MANAGER_STOPPED(10),
  /** The Manager is told to end, and another takes its place. */
  MANAGER_RESTARTED(8);

  /** How often it is done, of a hundred. */
  final int share;

  Fault(int share) {
    this.share = share;
  }
}
