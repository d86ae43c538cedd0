package io.orbitkv.cli.doctor;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** What the processor does in one instruction: every byte that goes to or comes from the SSD is checksummed. */
record ProcessorCheck() implements Check {

  private static final String NEEDED = "CRC-32C in hardware, wide vectors";
  private static final String FIX = "expose the host's processor to this virtual machine; checksums are slow without";

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    Optional<Set<String>> flags = machine.text("/proc/cpuinfo").stream().flatMap(String::lines)
        .filter(line -> line.startsWith("flags") || line.startsWith("Features"))
        .map(line -> Arrays.stream(line.substring(line.indexOf(':') + 1).strip().split("\\s+"))
            .collect(Collectors.toSet()))
        .findFirst();
    if (flags.isEmpty()) {
      return List.of(Finding.warn("processor", "unknown", NEEDED, "look at /proc/cpuinfo"));
    }
    if (flags.get().contains("crc32")) {
      return List.of(Finding.ok("processor", "Arm, crc32", NEEDED));
    }
    List<String> found = List.of("sse4_2", "pclmulqdq", "avx2", "avx512f").stream()
        .filter(flags.get()::contains)
        .toList();
    boolean enough = found.containsAll(List.of("sse4_2", "pclmulqdq", "avx2"));
    String text = found.isEmpty() ? "none of sse4_2, pclmulqdq, avx2, crc32" : String.join(" ", found);
    return List.of(enough ? Finding.ok("processor", text, NEEDED) : Finding.warn("processor", text, NEEDED, FIX));
  }
}
