package io.orbitkv.cli.doctor;

import java.util.List;

/** The Java that runs this. */
record JavaCheck(Runtime.Version version) implements Check {

  private static final int NEEDED = 25;

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    String found = version.toString();
    return List.of(version.feature() >= NEEDED
        ? Finding.ok("java", found, NEEDED + " or newer")
        : Finding.fail("java", found, NEEDED + " or newer", "install a JDK or JRE " + NEEDED + ", such as Temurin"));
  }
}
