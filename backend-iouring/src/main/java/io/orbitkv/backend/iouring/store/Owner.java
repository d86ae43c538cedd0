package io.orbitkv.backend.iouring.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Optional;

/**
 * The process that uses a store's folder, as it notes itself there for those who come second. The note is no lock: it
 * may be left from a process that died.
 *
 * @param pid its number
 * @param started when it started, {@link Instant#EPOCH} if the system does not tell
 * @param command what it runs
 */
record Owner(long pid, Instant started, String command) {

  /** The note's name in the folder. */
  static final String FILE = "owner";

  /** Keeps the note within one block of the disk. */
  private static final int MOST_COMMAND = 1000;

  static Owner thisProcess() {
    ProcessHandle process = ProcessHandle.current();
    String command = process.info().commandLine().or(() -> process.info().command()).orElse("unknown").replace('\n', ' ');
    return new Owner(process.pid(), process.info().startInstant().orElse(Instant.EPOCH),
        command.length() > MOST_COMMAND ? command.substring(0, MOST_COMMAND) : command);
  }

  /** Reads the note of a folder; empty if there is none or it makes no sense. */
  static Optional<Owner> read(Path folder) {
    try {
      List<String> lines = Files.readAllLines(folder.resolve(FILE));
      return lines.size() < 3
          ? Optional.empty()
          : Optional.of(new Owner(Long.parseLong(lines.get(0)), Instant.parse(lines.get(1)), lines.get(2)));
    } catch (IOException | NumberFormatException | DateTimeParseException e) {
      return Optional.empty();
    }
  }

  void write(Path folder) throws IOException {
    Files.write(folder.resolve(FILE), List.of(Long.toString(pid), started.toString(), command));
  }

  /** Returns whether this is the very process that asks; the start tells apart processes that had the same number. */
  boolean isThisProcess() {
    Owner self = thisProcess();
    return pid == self.pid() && started.equals(self.started());
  }

  /** Returns whether the process still runs, as far as it can be seen from here. */
  boolean isRunning() {
    return ProcessHandle.of(pid)
        .map(process -> process.info().startInstant().orElse(Instant.EPOCH).equals(started))
        .orElse(false);
  }

  @Override
  public String toString() {
    return "process " + pid + " (started " + started + "): " + command;
  }
}
