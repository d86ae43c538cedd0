package io.orbitkv.cli.doctor;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The kernel's release. */
record KernelCheck() implements Check {

  private static final Pattern RELEASE = Pattern.compile("(\\d+)\\.(\\d+).*");
  private static final String NEEDED = "5.11 or newer";

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    Optional<String> release = machine.text("/proc/sys/kernel/osrelease");
    Matcher numbers = RELEASE.matcher(release.orElse(""));
    if (!numbers.matches()) {
      return List.of(Finding.warn("kernel", release.orElse("unknown"), NEEDED, "use Linux"));
    }
    int major = Integer.parseInt(numbers.group(1));
    int minor = Integer.parseInt(numbers.group(2));
    return List.of(major > 5 || (major == 5 && minor >= 11)
        ? Finding.ok("kernel", release.get(), NEEDED)
        : Finding.warn("kernel", release.get(), NEEDED, "use a newer kernel, or --storage file for the SSD tier"));
  }
}
