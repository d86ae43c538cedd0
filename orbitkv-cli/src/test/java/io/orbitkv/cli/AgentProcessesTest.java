package io.orbitkv.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Agents and a Manager as processes of their own, driven by engine workers in Python. */
class AgentProcessesTest {

  private static final String TESTS = "src/test/python";

  @TempDir
  private Path folder;

  @Test
  void enginesInPython_getEveryByteBackAndSurviveWhatIsKilled() throws IOException, InterruptedException {
    python().runTests(TESTS);
  }

  @Test
  void theirTypesAreStrict() throws IOException, InterruptedException {
    python().checkTypes(TESTS);
  }

  @Test
  void vllmsWorkers_getEveryByteBackInEveryLayout() throws IOException, InterruptedException {
    String connector = "../adapter-vllm/src/";
    new PythonEnvironment(PythonEnvironment.VLLM, folder,
        List.of(PythonEnvironment.WIRE, connector + "main/python", connector + "test/python"),
        Map.of("ORBITKV_COMMAND", String.join("\n", launch()), "VLLM_USE_V2_MODEL_RUNNER", "0",
            "VLLM_NO_USAGE_STATS", "1", "VLLM_LOGGING_LEVEL", "ERROR"))
        .runModule("test_worker");
  }

  private PythonEnvironment python() {
    return new PythonEnvironment(folder, List.of(PythonEnvironment.WIRE),
        Map.of("ORBITKV_COMMAND", String.join("\n", launch())));
  }

  /** The command from the modules that this test runs with. */
  private static List<String> launch() {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC", "-Xmx128m", "--illegal-native-access=deny",
        "--enable-native-access=io.orbitkv.backend.dram,io.orbitkv.backend.gpu.cuda,io.orbitkv.backend.iouring",
        "--module-path", System.getProperty("jdk.module.path"),
        "--module", "io.orbitkv.cli/io.orbitkv.cli.Main");
  }
}
