package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.ByteSize;
import java.util.List;

/**
 * Which pages lie under an address range, as the kernel states it in smaps.
 *
 * @param residentBytes bytes that have memory
 * @param hugeBytes how many of them lie on huge pages
 * @param hugePageBytes the size of those pages
 */
record MappedPages(long residentBytes, long hugeBytes, long hugePageBytes) {

  /** Adds up the mappings of smaps that lie in the range. */
  static MappedPages of(List<String> smaps, long start, long bytes) {
    long resident = 0;
    long huge = 0;
    long hugePage = Mapping.HUGE_PAGE_BYTES;
    long kernelPage = 0;
    boolean inside = false;
    for (String line : smaps) {
      int colon = line.indexOf(':');
      String name = colon < 0 ? line : line.substring(0, colon);
      if (name.indexOf(' ') >= 0 || line.startsWith(" ")) {
        inside = startsIn(line, start, bytes);
      } else if (inside) {
        switch (name) {
          case "KernelPageSize" -> kernelPage = kib(line);
          case "Rss" -> resident += kib(line);
          case "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped" -> huge += kib(line);
          case "Shared_Hugetlb", "Private_Hugetlb" -> {
            // Pages of hugetlbfs are not counted as resident.
            resident += kib(line);
            huge += kib(line);
            hugePage = Math.max(hugePage, kernelPage);
          }
          default -> { }
        }
      }
    }
    return new MappedPages(resident, huge, hugePage);
  }

  private static boolean startsIn(String header, long start, long bytes) {
    long address = Long.parseUnsignedLong(header, 0, header.indexOf('-'), 16);
    return address >= start && address < start + bytes;
  }

  private static long kib(String line) {
    return Long.parseLong(line.substring(line.indexOf(':') + 1, line.length() - " kB".length()).strip()) << 10;
  }

  @Override
  public String toString() {
    if (hugeBytes == 0) {
      return "4 KiB pages";
    }
    String size = hugePageBytes / (1 << 20) + " MiB pages";
    return hugeBytes >= residentBytes
        ? size
        : size + " for " + new ByteSize(hugeBytes) + " of " + new ByteSize(residentBytes);
  }
}
