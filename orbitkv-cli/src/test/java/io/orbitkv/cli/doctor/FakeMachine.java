package io.orbitkv.cli.doctor;

import io.orbitkv.api.ByteSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A machine of planted files. */
final class FakeMachine {

  private static final Path RUNTIME = Path.of("/dev/shm/orbitkv-me");

  private final Path root;
  private long usableBytes = 8L << 30;

  FakeMachine(Path root) {
    this.root = root;
  }

  FakeMachine file(String path, String text) {
    try {
      Path file = root.resolve(path.substring(1));
      Files.createDirectories(file.getParent());
      Files.writeString(file, text + "\n");
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  FakeMachine link(String path, String target) {
    try {
      Path link = root.resolve(path.substring(1));
      Files.createDirectories(link.getParent());
      Files.createSymbolicLink(link, Path.of(target));
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  FakeMachine mounts(String... lines) {
    return file("/proc/self/mountinfo", String.join("\n", lines));
  }

  FakeMachine usable(long bytes) {
    usableBytes = bytes;
    return this;
  }

  /** Looks without a known size of memory. */
  List<Finding> look(Check check) {
    return check.look(machine(), new Plan(Optional.empty(), RUNTIME, Optional.empty()));
  }

  List<Finding> look(Check check, String dram) {
    return check.look(machine(), new Plan(Optional.of(ByteSize.parse(dram)), RUNTIME, Optional.empty()));
  }

  List<Finding> lookAtSsd(Check check, String folder) {
    return check.look(machine(), new Plan(Optional.empty(), RUNTIME, Optional.of(Path.of(folder))));
  }

  Machine machine() {
    return new Machine(root, folder -> new Machine.Space(16L << 30, usableBytes));
  }
}
