package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Python side of the protocol, in an environment that {@code .ci/python-env} makes once. */
class PythonTest {

  private static final String SOURCES = "src/main/python";
  private static final String TESTS = "src/test/python";
  private static final int LIMIT_MINUTES = 5;

  private record Ended(int status, String output) {}

  @TempDir
  private static Path folder;

  private static String python;

  @BeforeAll
  static void makeEnvironment() throws IOException, InterruptedException {
    Ended ended = run(List.of("../.ci/python-env"));
    assertThat(ended.status()).as(ended.output()).isZero();
    python = ended.output().strip() + "/bin/python";
  }

  @Test
  void testsPass() throws IOException, InterruptedException {
    Ended ended = run(List.of(python, "-W", "error", "-m", "unittest", "discover", "-s", TESTS));
    assertThat(ended.status()).as(ended.output()).isZero();
    assertThat(ended.output()).containsPattern("Ran [1-9][0-9]* tests");
  }

  @Test
  void typesAreStrict() throws IOException, InterruptedException {
    Ended ended = run(List.of(
        python, "-m", "mypy", "--config-file", SOURCES + "/pyproject.toml", "--cache-dir", folder + "/mypy",
        SOURCES + "/orbitkv_wire", SOURCES + "/orbitkv_agent", TESTS));
    assertThat(ended.status()).as(ended.output()).isZero();
  }

  private static Ended run(List<String> command) throws IOException, InterruptedException {
    Path output = Files.createTempFile(folder, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().put("PYTHONPATH", SOURCES);
    builder.environment().put("MYPYPATH", SOURCES + ":" + TESTS);
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    Process process = builder.start();
    try {
      assertThat(process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)).as("%s ended in time", command).isTrue();
    } finally {
      process.destroyForcibly();
    }
    return new Ended(process.exitValue(), Files.readString(output));
  }
}
