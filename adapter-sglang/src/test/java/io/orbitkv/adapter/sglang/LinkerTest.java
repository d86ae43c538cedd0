package io.orbitkv.adapter.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The linker in Python, in an environment with the released SGLang that {@code .ci/sglang-env} makes once. */
class LinkerTest {

  private static final String SOURCES = "src/main/python";
  private static final String WIRE = "../orbitkv-core/src/main/python";
  private static final String TESTS = "src/test/python";
  private static final int LIMIT_MINUTES = 20;

  private record Ended(int status, String output) {}

  @TempDir
  private static Path folder;

  private static Path environment;

  @BeforeAll
  static void makeEnvironment() throws IOException, InterruptedException {
    environment = Path.of(made("../.ci/sglang-env"));
  }

  @Test
  void testsPass() throws IOException, InterruptedException {
    Ended ended = run(List.of(environment + "/bin/python", "-m", "unittest", "discover", "-s", TESTS));
    assertThat(ended.status()).as(ended.output()).isZero();
    assertThat(ended.output()).containsPattern("Ran [1-9][0-9]* tests");
  }

  @Test
  void typesAreStrict() throws IOException, InterruptedException {
    // The engine has types of its own, and reading them takes a minute: what was read is kept with the build.
    Ended ended = run(List.of(
        made("../.ci/python-env") + "/bin/python", "-m", "mypy", "--config-file", TESTS + "/pyproject.toml",
        "--python-executable", environment + "/bin/python", "--cache-dir", "target/mypy-cache",
        SOURCES + "/orbitkv_sglang", TESTS));
    assertThat(ended.status()).as(ended.output()).isZero();
  }

  private static String made(String script) throws IOException, InterruptedException {
    Ended ended = run(List.of(script));
    assertThat(ended.status()).as(ended.output()).isZero();
    return ended.output().strip();
  }

  private static Ended run(List<String> command) throws IOException, InterruptedException {
    Path output = Files.createTempFile(folder, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().put("PYTHONPATH", SOURCES + ":" + WIRE + ":" + TESTS);
    builder.environment().put("MYPYPATH", SOURCES + ":" + WIRE + ":" + TESTS);
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    builder.environment().put("OMP_NUM_THREADS", "1");
    builder.environment().put("HF_HUB_OFFLINE", "1");
    // The engine compiles what hashes pages when it starts, with the environment's tools.
    if (environment != null) {
      builder.environment().merge("PATH", environment + "/bin", (path, own) -> own + ":" + path);
    }
    builder.environment().put("TORCH_EXTENSIONS_DIR", Path.of("target/torch-extensions").toAbsolutePath().toString());
    Process process = builder.start();
    try {
      assertThat(process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)).as("%s ended in time", command).isTrue();
    } finally {
      process.destroyForcibly();
    }
    return new Ended(process.exitValue(), Files.readString(output));
  }
}
