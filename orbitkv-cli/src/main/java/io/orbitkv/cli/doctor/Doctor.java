package io.orbitkv.cli.doctor;

import java.nio.file.Path;
import java.util.List;

/** All checks, in the order in which they are shown. */
public final class Doctor {

  private final List<Check> checks;

  /**
   * @param trial opens a store for a moment
   * @param temporary a folder for what is tried without an SSD folder
   */
  public Doctor(StoreTrial trial, Path temporary) {
    checks = List.of(
        new JavaCheck(Runtime.version()),
        new KernelCheck(),
        new ProcessorCheck(),
        new MemoryCheck(),
        new RuntimeFolderCheck(),
        new HugePagesCheck(),
        new LimitsCheck(),
        new StorageCheck(trial, temporary),
        new GpuCheck(),
        new ContainerCheck());
  }

  /**
   * Looks at everything.
   *
   * @param machine where
   * @param plan what the machine is to carry
   * @return what was found, in order
   */
  public List<Finding> examine(Machine machine, Plan plan) {
    return checks.stream().flatMap(check -> check.look(machine, plan).stream()).toList();
  }
}
