package io.orbitkv.cli.doctor;

import io.orbitkv.api.ByteSize;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * io_uring, tried, and with an SSD folder its file system, {@code O_DIRECT}, tried too, and room.
 *
 * @param trial opens a store for a moment
 * @param temporary where io_uring is tried without an SSD folder
 */
record StorageCheck(StoreTrial trial, Path temporary) implements Check {

  private static final long LEAST_BYTES = 1L << 30;

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    List<Finding> findings = new ArrayList<>();
    boolean folder = plan.ssd().isPresent() && machine.exists(plan.ssd().get().toString());
    Finding ring = ring(machine, folder ? plan.ssd().get() : temporary);
    findings.add(ring);
    plan.ssd().ifPresent(ssd -> {
      if (!folder) {
        findings.add(
            Finding.fail("SSD folder", "'" + ssd + "' is missing", "a folder on a local disk", "mkdir " + ssd));
      } else {
        findings.add(fileSystem(machine, ssd, ring.verdict() == Finding.Verdict.OK));
        findings.add(space(machine, ssd));
      }
    });
    return findings;
  }

  private Finding ring(Machine machine, Path folder) {
    String needed = "allowed, for the SSD tier";
    String setting = machine.text("/proc/sys/kernel/io_uring_disabled")
        .map(value -> ", kernel.io_uring_disabled is " + value)
        .orElse("");
    // Through the page cache, so that a file system without O_DIRECT is not taken for a missing ring.
    Optional<String> refusal = trial.refusal(folder, false);
    return refusal.isEmpty()
        ? Finding.ok("io_uring", "works" + setting, needed)
        : Finding.warn("io_uring", "refused" + setting, needed, refusal.get());
  }

  private Finding fileSystem(Machine machine, Path ssd, boolean ring) {
    String type = Mount.of(ssd, machine).map(Mount::type).orElse("unknown");
    String needed = "one that grants O_DIRECT, as ext4 or XFS";
    if (!ring) {
      return Finding.warn("file system", type + ", O_DIRECT not tried without io_uring", needed, "see io_uring");
    }
    Optional<String> refusal = trial.refusal(ssd, true);
    return refusal.isEmpty()
        ? Finding.ok("file system", type + " with O_DIRECT", needed)
        : Finding.fail("file system", type + ", refused", needed, refusal.get());
  }

  private static Finding space(Machine machine, Path ssd) {
    String needed = new ByteSize(LEAST_BYTES) + ", and as much as --ssd will be";
    Optional<Machine.Space> space = machine.space(ssd);
    if (space.isEmpty()) {
      return Finding.warn("disk space", "unknown", needed, "look at df " + ssd);
    }
    String found = new ByteSize(space.get().usableBytes()) + " free of " + new ByteSize(space.get().totalBytes());
    return space.get().usableBytes() >= LEAST_BYTES
        ? Finding.ok("disk space", found, needed)
        : Finding.fail("disk space", found, needed, "make room, or choose another disk");
  }
}
