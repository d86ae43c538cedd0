package io.orbitkv.core.sim;

import java.util.List;

/** Runs seeds one after another in a process of its own and stops at the first that fails. */
final class SimulatorMain {

  /** How many events a run has. */
  static final int EVENTS = 200;

  /** The exit status when a seed failed. */
  static final int FOUND = 3;

  private SimulatorMain() {}

  /**
   * @param args {@code --seeds N}: runs the seeds 0 to N - 1. Prints the seed that fails and why, and exits with 3;
   *     exits with 0 if none does
   */
  public static void main(String[] args) {
    if (args.length != 2 || !args[0].equals("--seeds")) {
      throw new IllegalArgumentException("arguments " + List.of(args) + "; expected --seeds N");
    }
    long seeds = Long.parseLong(args[1]);
    for (long seed = 0; seed < seeds; seed++) {
      try (Simulation simulation = new Simulation(seed)) {
        simulation.run(EVENTS);
      } catch (RuntimeException | AssertionError e) {
        System.out.println(seed + " " + e);
        System.exit(FOUND);
      }
    }
  }
}
