package io.orbitkv.cli.doctor;

import java.nio.file.Path;
import java.util.Optional;

/**
 * A file system where it is mounted.
 *
 * @param at the folder
 * @param type as "tmpfs" or "ext4"
 * @param options those of the file system, separated by commas
 */
record Mount(Path at, String type, String options) {

  private static final int MOUNT_POINT = 4;

  /** Returns the file system that a path lies in. */
  static Optional<Mount> of(Path path, Machine machine) {
    return machine.text("/proc/self/mountinfo").stream().flatMap(String::lines)
        .map(Mount::parse)
        .flatMap(Optional::stream)
        .filter(mount -> path.startsWith(mount.at))
        // Of mounts on one folder the last one is seen.
        .reduce((one, other) -> other.at.getNameCount() >= one.at.getNameCount() ? other : one);
  }

  boolean isMemory() {
    return type.equals("tmpfs") || type.equals("hugetlbfs");
  }

  private static Optional<Mount> parse(String line) {
    int dash = line.indexOf(" - ");
    if (dash < 0) {
      return Optional.empty();
    }
    String[] before = line.substring(0, dash).split(" ");
    String[] after = line.substring(dash + 3).split(" ");
    if (before.length <= MOUNT_POINT || after.length < 3) {
      return Optional.empty();
    }
    return Optional.of(new Mount(Path.of(before[MOUNT_POINT].replace("\\040", " ")), after[0], after[2]));
  }
}
