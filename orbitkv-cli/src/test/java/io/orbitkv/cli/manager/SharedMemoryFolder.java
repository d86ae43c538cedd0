package io.orbitkv.cli.manager;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/** Makes a test's folder on the memory file system that every Linux has. */
final class SharedMemoryFolder implements TempDirFactory {

  @Override
  public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws Exception {
    return Files.createTempDirectory(Path.of("/dev/shm"), "orbitkv-test-");
  }
}
