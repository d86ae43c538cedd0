package io.orbitkv.cli;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * A folder that a command makes for itself and removes with all that is in it, also when the command is interrupted
 * from the keyboard: it may hold gigabytes.
 */
final class ScratchFolder implements AutoCloseable {

  private final Path path;
  private final Thread atExit;

  private ScratchFolder(Path path) {
    this.path = path;
    this.atExit = new Thread(() -> remove(path), "remove " + path);
  }

  /**
   * Makes a folder with a name of its own.
   *
   * @param parent an existing folder
   * @return the new folder
   * @throws UnavailableException if none can be made there
   */
  static ScratchFolder in(Path parent) {
    try {
      ScratchFolder folder = new ScratchFolder(Files.createTempDirectory(parent, "orbitkv-"));
      Runtime.getRuntime().addShutdownHook(folder.atExit);
      return folder;
    } catch (IOException e) {
      throw new UnavailableException("no folder can be made in '" + parent + "': " + e.getMessage()
          + "; check that it exists and may be written", e);
    }
  }

  /** Makes a folder in the system's place for temporary files. */
  static ScratchFolder temporary() {
    return in(Path.of(System.getProperty("java.io.tmpdir")));
  }

  Path path() {
    return path;
  }

  @Override
  public void close() {
    Runtime.getRuntime().removeShutdownHook(atExit);
    remove(path);
  }

  /** Removes a folder with all that is in it. */
  static void remove(Path folder) {
    try (Stream<Path> entries = Files.walk(folder)) {
      for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(entry);
      }
    } catch (IOException e) {
      throw new UnavailableException("'" + folder + "' could not be removed: " + e.getMessage(), e);
    }
  }
}
