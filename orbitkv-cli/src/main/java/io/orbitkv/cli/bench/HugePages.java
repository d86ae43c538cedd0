package io.orbitkv.cli.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * How much of a process's memory lies on huge pages, as the kernel counts it. Asking for huge pages and getting them
 * are different things, and they decide how fast direct I/O is.
 */
final class HugePages {

  private HugePages() {}

  /** Returns the bytes on huge pages of a process, or zero if it has ended. */
  static long of(long pid) {
    try (Stream<String> lines = Files.lines(Path.of("/proc/" + pid + "/smaps_rollup"))) {
      return lines.filter(HugePages::countsHugePages).mapToLong(HugePages::bytes).sum();
    } catch (IOException | UncheckedIOException e) {
      return 0;
    }
  }

  private static boolean countsHugePages(String line) {
    return line.startsWith("AnonHugePages:") || line.startsWith("ShmemPmdMapped:") || line.startsWith("FilePmdMapped:")
        || line.startsWith("Shared_Hugetlb:") || line.startsWith("Private_Hugetlb:");
  }

  private static long bytes(String line) {
    return Long.parseLong(line.replaceAll("\\D", "")) << 10;
  }
}
