package io.orbitkv.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The wheel that the build has packed: installed, and used where there is no Java. */
class WheelIT {

  private static final String SOURCES = "src/main/python";
  private static final String BUILD = "src/main/wheel";
  private static final String TESTS = "src/test/wheel";

  @TempDir
  private Path folder;

  @Test
  void installed_runsItsCommandAndAnEnginesAgent() throws IOException, InterruptedException {
    // Of ours, its tests see how it is packed, and nothing of what is in it.
    python(List.of(BUILD)).runTests(TESTS);
  }

  @Test
  void typesAreStrict() throws IOException, InterruptedException {
    python(List.of(SOURCES, PythonEnvironment.WIRE, BUILD)).checkTypes(SOURCES + "/orbitkv", BUILD, TESTS);
  }

  private PythonEnvironment python(List<String> sources) {
    return new PythonEnvironment(folder, sources, Map.of("ORBITKV_WHEEL", "target/wheel"));
  }
}
