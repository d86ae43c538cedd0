package io.orbitkv.arch;

import java.nio.file.Files;
import java.nio.file.Path;

/** The source tree that the tests run in. */
public final class Repository {

  private Repository() {}

  /** Returns the folder of the root pom. */
  public static Path root() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.isDirectory(folder.resolve(".mvn"))) {
      folder = folder.getParent();
    }
    return folder;
  }
}
