package io.orbitkv.cli.chaos;

/** What is done to a process or its socket. */
enum Fault {
  /** {@code kill -9} of an engine; another takes its place. */
  ENGINE_KILLED(22),
  /** An engine is stopped for some time, and goes on. */
  ENGINE_STOPPED(13),
  /** The connection of an engine is cut while both sides live. */
  CONNECTION_CUT(13),
  /** {@code kill -9} of an agent; another takes its place. */
  AGENT_KILLED(14),
  /** An agent is stopped for some time, and goes on. */
  AGENT_STOPPED(9),
  /** The connection of an agent to its engine or to the Manager is cut while both sides live. */
  AGENT_CUT_OFF(9),
  /** {@code kill -9} of the Manager; another takes its place. */
  MANAGER_KILLED(8),
  /** The Manager is stopped for some time, and goes on. */
  MANAGER_STOPPED(7),
  /** The Manager is told to end, and another takes its place. */
  MANAGER_RESTARTED(5);

  /** How often it is done, of a hundred. */
  final int share;

  Fault(int share) {
    this.share = share;
  }

  /** Returns whether it is done to an agent. */
  boolean isOfAgent() {
    return this == AGENT_KILLED || this == AGENT_STOPPED || this == AGENT_CUT_OFF;
  }
}
