package io.orbitkv.qualification.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The released engine, in an environment that {@code .ci/vllm-env} makes once, with the wheel that this build made. */
class QualificationIT {

  private static final Path WHEELS = Path.of("../../orbitkv-cli/target/wheel");
  private static final Duration INSTALLATION = Duration.ofMinutes(15);
  private static final Duration QUALIFICATION = Duration.ofMinutes(20);

  @TempDir
  private Path folder;

  @Test
  void tokensAreThoseOfTheEngineAlone_andThePageSaysSo() throws IOException, InterruptedException {
    String python = environment("../../.ci/vllm-env");
    Path installed = folder.resolve("installed");
    Command installation = Command.run(
        List.of(environment("../../.ci/python-env"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-index", "--no-deps", "--target", installed.toString(), wheel().toString()),
        Map.of(), INSTALLATION, folder);
    assertThat(installation.status()).as(installation.output()).isZero();

    Command qualification = Command.run(
        List.of(python, "-m", "qualification", "--path", installed.toString(), "--page", "target/qualification-vllm.md",
            "--compare", "../../docs/qualification-vllm.md"),
        // Bytecode that is kept saves an engine two thirds of its start, and a server has three processes.
        Map.of("PYTHONPATH", "src/test/python", "PYTHONDONTWRITEBYTECODE", ""), QUALIFICATION, folder);
    assertThat(qualification.status()).as(qualification.output()).isZero();
  }

  private String environment(String command) throws IOException, InterruptedException {
    Command made = Command.run(List.of(command), Map.of(), INSTALLATION, folder);
    assertThat(made.status()).as(made.output()).isZero();
    return made.output().strip().lines().toList().getLast() + "/bin/python";
  }

  private static Path wheel() throws IOException {
    try (Stream<Path> files = Files.list(WHEELS)) {
      List<Path> wheels = files.filter(file -> file.toString().endsWith(".whl")).toList();
      assertThat(wheels).as("wheels in %s, which 'mvn verify' makes", WHEELS).hasSize(1);
      return wheels.getFirst();
    }
  }
}
