package io.orbitkv.backend.iouring.ring;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What decides whether this process gets a ring and registered memory. Read only to explain a refusal.
 *
 * @param release the kernel's release, as "6.1.0-13-amd64"
 * @param ioUringDisabled {@code kernel.io_uring_disabled}: "0", "1", "2", or empty on kernels without it (before 6.6)
 * @param memlockLimit the soft limit of memory that this process may lock, in bytes or "unlimited"; empty if not known
 */
record KernelSettings(String release, String ioUringDisabled, String memlockLimit) {

  private static final String MEMLOCK = "Max locked memory";

  static KernelSettings read() {
    return new KernelSettings(
        content("/proc/sys/kernel/osrelease"),
        content("/proc/sys/kernel/io_uring_disabled"),
        memlockLimit(content("/proc/self/limits")));
  }

  /** Finds the limit in the text of {@code /proc/self/limits}. */
  static String memlockLimit(String limits) {
    return limits
        .lines()
        .filter(line -> line.startsWith(MEMLOCK))
        .map(line -> line.substring(MEMLOCK.length()).strip().split("\\s+")[0])
        .findFirst()
        .orElse("");
  }

  private static String content(String path) {
    try {
      return Files.readString(Path.of(path)).strip();
    } catch (IOException e) {
      return ""; // not there, or hidden by a container: then the message does without
    }
  }
}
