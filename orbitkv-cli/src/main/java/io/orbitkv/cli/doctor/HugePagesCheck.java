package io.orbitkv.cli.doctor;

import io.orbitkv.api.ByteSize;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Whether memory in the runtime folder gets pages of 2 MiB. */
record HugePagesCheck() implements Check {

  private static final Pattern CHOSEN = Pattern.compile("\\[([a-z_]+)]");
  private static final Pattern OF_MOUNT = Pattern.compile("(?:^|,)huge=([a-z_]+)(?:,|$)");
  private static final Set<String> GRANTED = Set.of("always", "within_size", "advise", "force");
  private static final String NEEDED = "advise, as the SSD is slower over pages of 4 KiB";

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    Optional<Mount> mount = Mount.of(plan.runtime(), machine);
    if (mount.isPresent() && mount.get().type().equals("hugetlbfs")) {
      return List.of(reserved(machine, plan));
    }
    Optional<String> ofMount = mount.map(Mount::options).flatMap(options -> group(OF_MOUNT, options));
    Optional<String> ofSystem = machine.text("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
        .flatMap(text -> group(CHOSEN, text));
    // The system's other values are for memory that is no file of a mount.
    String effective = ofSystem.filter(Set.of("deny", "force")::contains).or(() -> ofMount).orElse("never");
    String found = "transparent ones: " + effective;
    return List.of(GRANTED.contains(effective)
        ? Finding.ok("huge pages", found, NEEDED)
        : Finding.warn("huge pages", found, NEEDED, effective.equals("deny")
            ? "echo never > /sys/kernel/mm/transparent_hugepage/shmem_enabled"
            : "mount -o remount,huge=advise " + mount.map(Mount::at).orElse(plan.runtime())));
  }

  private static Finding reserved(Machine machine, Plan plan) {
    OptionalLong pages = machine.text("/proc/meminfo").stream().flatMap(String::lines)
        .filter(line -> line.startsWith("HugePages_Free:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst();
    long bytes = pages.orElse(0) * machine.kibibytes("/proc/meminfo", "Hugepagesize").orElse(0);
    String found = new ByteSize(bytes) + " of reserved pages free";
    return plan.exceeds(bytes)
        ? Finding.fail("huge pages", found, plan.neededMemory(), "raise vm.nr_hugepages, or lower --dram")
        : Finding.ok("huge pages", found, plan.neededMemory());
  }

  private static Optional<String> group(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    return matcher.find() ? Optional.of(matcher.group(1)) : Optional.empty();
  }
}
