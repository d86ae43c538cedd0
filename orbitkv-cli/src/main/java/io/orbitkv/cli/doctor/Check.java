package io.orbitkv.cli.doctor;

import java.util.List;

/** Looks at one thing of a machine. */
interface Check {

  /**
   * Looks.
   *
   * @param machine where
   * @param plan what the machine is to carry
   * @return what was found; empty where it does not matter
   */
  List<Finding> look(Machine machine, Plan plan);
}
