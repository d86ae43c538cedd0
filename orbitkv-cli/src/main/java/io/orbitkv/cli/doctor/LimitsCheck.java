package io.orbitkv.cli.doctor;

import io.orbitkv.api.ByteSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Limits of this process that the next one started in the same way will have. */
record LimitsCheck() implements Check {

  /** A connection takes one, and each member's witness; the rest is the JVM's own. */
  private static final long NEEDED_FILES = 1024;

  private static final int CAP_IPC_LOCK = 14;

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    List<Finding> findings = new ArrayList<>();
    findings.add(lockedMemory(machine, plan));
    findings.add(openFiles(machine));
    return findings;
  }

  private static Finding lockedMemory(Machine machine, Plan plan) {
    String needed = plan.neededMemory() + ", if the SSD tier uses io_uring";
    if (mayLockAnything(machine)) {
      return Finding.ok("locked memory", "no limit for this user", needed);
    }
    OptionalLong limit = machine.limit("max locked memory");
    if (limit.isEmpty()) {
      return Finding.warn("locked memory", "unknown", needed, "look at ulimit -l");
    }
    if (limit.getAsLong() == Long.MAX_VALUE) {
      return Finding.ok("locked memory", "no limit", needed);
    }
    String found = new ByteSize(limit.getAsLong()).toString();
    return plan.dram().isPresent() && !plan.exceeds(limit.getAsLong())
        ? Finding.ok("locked memory", found, needed)
        : Finding.warn("locked memory", found, needed,
            "ulimit -l unlimited, or LimitMEMLOCK=infinity in systemd; without it transfers are slower");
  }

  private static boolean mayLockAnything(Machine machine) {
    Optional<String> capabilities = machine.text("/proc/self/status").stream().flatMap(String::lines)
        .filter(line -> line.startsWith("CapEff:"))
        .map(line -> line.substring("CapEff:".length()).strip())
        .findFirst();
    return capabilities.isPresent() && (Long.parseUnsignedLong(capabilities.get(), 16) >> CAP_IPC_LOCK & 1) == 1;
  }

  private static Finding openFiles(Machine machine) {
    OptionalLong limit = machine.limit("max open files");
    String needed = NEEDED_FILES + " or more";
    if (limit.isEmpty()) {
      return Finding.warn("open files", "unknown", needed, "look at ulimit -n");
    }
    String found = limit.getAsLong() == Long.MAX_VALUE ? "no limit" : Long.toString(limit.getAsLong());
    return limit.getAsLong() >= NEEDED_FILES
        ? Finding.ok("open files", found, needed)
        : Finding.warn("open files", found, needed, "ulimit -n " + NEEDED_FILES + ", or LimitNOFILE= in systemd");
  }
}
