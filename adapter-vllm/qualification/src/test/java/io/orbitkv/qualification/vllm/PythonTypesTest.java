package io.orbitkv.qualification.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Python of the qualification, of the figures and of what runs on a GPU, which types hold together where no engine is needed. */
class PythonTypesTest {

  private static final String SOURCES = "src/test/python";

  @TempDir
  private Path folder;

  @Test
  void typesAreStrict() throws IOException, InterruptedException {
    Command environment = Command.run(List.of("../../.ci/python-env"), Map.of(), Duration.ofMinutes(5), folder);
    assertThat(environment.status()).as(environment.output()).isZero();
    Command types = Command.run(
        List.of(environment.output().strip() + "/bin/python", "-m", "mypy", "--config-file", SOURCES + "/pyproject.toml",
            "--cache-dir", folder + "/mypy", SOURCES + "/qualification", SOURCES + "/figures", SOURCES + "/pd",
            SOURCES + "/gpu", SOURCES + "/yielding"),
        Map.of("MYPYPATH", SOURCES), Duration.ofMinutes(5), folder);
    assertThat(types.status()).as(types.output()).isZero();
  }
}
