package io.orbitkv.qualification.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Python of the qualification, which types hold together where no engine is needed. */
class PythonTypesTest {

  private static final String SOURCES = "src/test/python";

  @TempDir
  private Path folder;

  @Test
  void typesAreStrict() throws IOException, InterruptedException {
    assertTypesHold(SOURCES, SOURCES + "/qualification", SOURCES + "/gpu");
  }

  @Test
  void typesOfTheOtherEnginesProgram_holdWithItsOwnDriver() throws IOException, InterruptedException {
    assertTypesHold("../../adapter-vllm/qualification/" + SOURCES, SOURCES + "/neighbour");
  }

  /** Checks a folder with the packages and the settings of a qualification. */
  private void assertTypesHold(String qualification, String... sources) throws IOException, InterruptedException {
    Command environment = Command.run(List.of("../../.ci/python-env"), Map.of(), Duration.ofMinutes(5), folder);
    assertThat(environment.status()).as(environment.output()).isZero();
    Command types = Command.run(
        Stream.concat(Stream.of(environment.output().strip() + "/bin/python", "-m", "mypy", "--config-file",
            qualification + "/pyproject.toml", "--cache-dir", folder + "/mypy"), Stream.of(sources)).toList(),
        Map.of("MYPYPATH", qualification), Duration.ofMinutes(5), folder);
    assertThat(types.status()).as(types.output()).isZero();
  }
}
