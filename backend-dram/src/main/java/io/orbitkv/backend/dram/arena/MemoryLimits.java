package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Everything that bounds how much memory this process can take now, with its numbers: the machine's free memory, the
 * memory cgroups it is in (versions 1 and 2) and, where there is one, the file system that holds the arena.
 */
final class MemoryLimits {

  private final List<Limit> limits = new ArrayList<>();

  /** One bound: how many bytes it leaves, and what it is. */
  private record Limit(long freeBytes, String what) {
    @Override
    public String toString() {
      return what + " leaves " + new ByteSize(Math.max(0, freeBytes)) + " (" + freeBytes + " bytes)";
    }
  }

  /**
   * Adds a bound.
   *
   * @param freeBytes what it leaves
   * @param what it is, in words
   */
  MemoryLimits add(long freeBytes, String what) {
    limits.add(new Limit(freeBytes, what));
    return this;
  }

  /**
   * Adds what the system says.
   *
   * @param root the folder that holds {@code proc} and {@code sys}
   */
  MemoryLimits addSystem(Path root) {
    long available = field(root.resolve("proc/meminfo"), "MemAvailable:").orElse(-1L);
    if (available >= 0) {
      add(available * 1024, "free memory of the machine (MemAvailable)");
    }
    for (String line : lines(root.resolve("proc/self/cgroup"))) {
      String[] parts = line.split(":", 3);
      if (parts.length == 3 && parts[0].equals("0") && parts[1].isEmpty()) {
        addCgroups(root.resolve("sys/fs/cgroup"), parts[2], "memory.max", "memory.current", "inactive_file ");
      } else if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
        addCgroups(root.resolve("sys/fs/cgroup/memory"), parts[2], "memory.limit_in_bytes", "memory.usage_in_bytes",
            "total_inactive_file ");
      }
    }
    return this;
  }

  /**
   * Adds what is free of the machine's reserved huge pages.
   *
   * @param root the folder that holds {@code sys}
   * @param pageBytes the size of the pages
   */
  MemoryLimits addHugePages(Path root, long pageBytes) {
    Path pages = root.resolve("sys/kernel/mm/hugepages/hugepages-" + (pageBytes >> 10) + "kB");
    long free = number(pages.resolve("free_hugepages")).orElse(0L) - number(pages.resolve("resv_hugepages")).orElse(0L);
    return add(free * pageBytes, "the free huge pages of " + new ByteSize(pageBytes) + " (vm.nr_hugepages)");
  }

  /** Adds a cgroup and those above it: each of them can set a limit. In a container only the root may be visible. */
  private void addCgroups(Path mount, String path, String limitFile, String usageFile, String reclaimable) {
    for (Path group = mount.resolve("." + path).normalize(); group.startsWith(mount); group = group.getParent()) {
      long limit = number(group.resolve(limitFile)).orElse(-1L);
      // A limit without effect is "max" or absent in version 2, and near 2^63 in version 1.
      if (limit >= 0 && limit < Long.MAX_VALUE >> 1) {
        long used = number(group.resolve(usageFile)).orElse(0L);
        long cache = field(group.resolve("memory.stat"), reclaimable).orElse(0L);
        add(limit - Math.max(0, used - cache), "memory cgroup " + group + " of " + new ByteSize(limit));
      }
    }
  }

  /**
   * Checks a size against every bound.
   *
   * @param bytes the size that is wanted
   * @throws UnavailableException with all numbers, if one of the bounds is lower
   */
  void require(long bytes) {
    long least = limits.stream().mapToLong(Limit::freeBytes).min().orElse(Long.MAX_VALUE);
    if (bytes > least) {
      throw new UnavailableException("memory of " + new ByteSize(bytes) + " (" + bytes + " bytes) does not fit: "
          + limits.stream().map(Limit::toString).collect(Collectors.joining(", "))
          + "; ask for less or raise the limit");
    }
  }

  private static Optional<Long> number(Path file) {
    return lines(file).stream().findFirst().flatMap(MemoryLimits::number);
  }

  private static Optional<Long> field(Path file, String name) {
    return lines(file).stream().filter(line -> line.startsWith(name)).findFirst()
        .flatMap(line -> number(line.substring(name.length())));
  }

  private static Optional<Long> number(String text) {
    try {
      return Optional.of(Long.parseLong(text.replace("kB", "").strip()));
    } catch (NumberFormatException e) {
      return Optional.empty();
    }
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      return List.of();
    }
  }
}
