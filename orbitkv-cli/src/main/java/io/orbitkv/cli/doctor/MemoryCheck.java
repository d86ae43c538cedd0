package io.orbitkv.cli.doctor;

import io.orbitkv.api.ByteSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Memory that is free on the machine, and what the control group of this process may take. */
record MemoryCheck() implements Check {

  private static final String GROUPS = "/sys/fs/cgroup";

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    List<Finding> findings = new ArrayList<>();
    findings.add(free(machine, plan));
    findings.add(controlGroup(machine, plan));
    return findings;
  }

  private static Finding free(Machine machine, Plan plan) {
    OptionalLong available = machine.kibibytes("/proc/meminfo", "MemAvailable");
    if (available.isEmpty()) {
      return Finding.warn("memory", "unknown", plan.neededMemory(), "look at /proc/meminfo");
    }
    String found = new ByteSize(available.getAsLong()) + " available";
    return plan.exceeds(available.getAsLong())
        ? Finding.fail("memory", found, plan.neededMemory(), "lower --dram, or end what else uses memory")
        : Finding.ok("memory", found, plan.neededMemory());
  }

  /** Looks at the group and those above it: the tightest decides. What it uses already counts, shared memory too. */
  private static Finding controlGroup(Machine machine, Plan plan) {
    Optional<String> own = machine.text("/proc/self/cgroup").stream().flatMap(String::lines)
        .filter(line -> line.startsWith("0::"))
        .map(line -> line.substring(3))
        .findFirst();
    if (own.isEmpty() || !machine.exists(GROUPS + "/cgroup.controllers")) {
      return Finding.ok("cgroup memory", "no control groups of version 2", plan.neededMemory());
    }
    long least = Long.MAX_VALUE;
    for (String group = own.get(); ; group = parent(group)) {
      Optional<String> most = machine.text(GROUPS + group + "/memory.max").filter(text -> !text.equals("max"));
      long used = machine.text(GROUPS + group + "/memory.current").map(Long::parseLong).orElse(0L);
      if (most.isPresent()) {
        least = Math.min(least, Math.max(0, Long.parseLong(most.get()) - used));
      }
      if (group.length() <= 1) {
        break;
      }
    }
    if (least == Long.MAX_VALUE) {
      return Finding.ok("cgroup memory", "no limit", plan.neededMemory());
    }
    String found = new ByteSize(least) + " left of the limit";
    return plan.exceeds(least)
        ? Finding.fail("cgroup memory", found, plan.neededMemory(),
            "raise memory.max (MemoryMax= in systemd, resources.limits.memory in Kubernetes), or lower --dram")
        : Finding.ok("cgroup memory", found, plan.neededMemory());
  }

  private static String parent(String group) {
    return group.substring(0, Math.max(0, group.lastIndexOf('/')));
  }
}
