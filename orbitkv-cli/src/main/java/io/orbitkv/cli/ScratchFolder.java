package io.orbitkv.cli;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * A folder that a command makes for itself and removes with all that is in it.
 *
 * @param path the folder
 */
record ScratchFolder(Path path) implements AutoCloseable {

  /**
   * Makes a folder with a name of its own.
   *
   * @param parent an existing folder
   * @return the new folder
   * @throws UnavailableException if none can be made there
   */
  static ScratchFolder in(Path parent) {
    try {
      return new ScratchFolder(Files.createTempDirectory(parent, "orbitkv-"));
    } catch (IOException e) {
      throw new UnavailableException("no folder can be made in '" + parent + "': " + e.getMessage()
          + "; check that it exists and may be written", e);
    }
  }

  /** Makes a folder in the system's place for temporary files. */
  static ScratchFolder temporary() {
    return in(Path.of(System.getProperty("java.io.tmpdir")));
  }

  @Override
  public void close() {
    try (Stream<Path> entries = Files.walk(path)) {
      for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(entry);
      }
    } catch (IOException e) {
      throw new UnavailableException("'" + path + "' could not be removed: " + e.getMessage(), e);
    }
  }
}
