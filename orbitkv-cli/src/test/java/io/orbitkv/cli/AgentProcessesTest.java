package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Agents and a Manager as processes of their own, driven by engine workers in Python. */
class AgentProcessesTest {

  private static final String PYTHON_SOURCES = "../orbitkv-core/src/main/python";
  private static final String PYTHON_TESTS = "src/test/python";
  private static final int LIMIT_MINUTES = 5;

  @TempDir
  private Path folder;

  @Test
  void enginesInPython_getEveryByteBackAndSurviveWhatIsKilled() throws IOException, InterruptedException {
    String python = run(List.of("../.ci/python-env")).strip() + "/bin/python";
    String output = run(List.of(python, "-W", "error", "-m", "unittest", "discover", "-s", PYTHON_TESTS));
    assertThat(output).containsPattern("Ran [1-9][0-9]* tests");
  }

  @Test
  void theirTypesAreStrict() throws IOException, InterruptedException {
    String python = run(List.of("../.ci/python-env")).strip() + "/bin/python";
    run(List.of(python, "-m", "mypy", "--config-file", PYTHON_SOURCES + "/pyproject.toml", "--cache-dir",
        folder.resolve("mypy").toString(), PYTHON_TESTS));
  }

  private String run(List<String> command) throws IOException, InterruptedException {
    Path output = Files.createTempFile(folder, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().put("PYTHONPATH", PYTHON_SOURCES);
    builder.environment().put("MYPYPATH", PYTHON_SOURCES);
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    builder.environment().put("ORBITKV_COMMAND", String.join("\n", launch()));
    Process process = builder.start();
    try {
      assertThat(process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)).as("%s ended in time", command).isTrue();
    } finally {
      process.destroyForcibly();
    }
    String text = Files.readString(output);
    assertThat(process.exitValue()).as(text).isZero();
    return text;
  }

  /** The command from the modules that this test runs with. */
  private static List<String> launch() {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC", "-Xmx128m", "--illegal-native-access=deny",
        "--enable-native-access=io.orbitkv.backend.dram,io.orbitkv.backend.iouring",
        "--module-path", System.getProperty("jdk.module.path"),
        "--module", "io.orbitkv.cli/io.orbitkv.cli.Main");
  }
}
