package io.orbitkv.cli;

import tools.jackson.databind.node.ObjectNode;

/** The cache that a replay was served by. */
interface CacheUnderReplay {

  /** Returns what it is, in a line. */
  String describe();

  /** Puts what it is among the settings of a replay. */
  void describe(ObjectNode settings);
}
