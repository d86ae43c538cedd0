package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The Python that a script in {@code .ci} makes once, with sources of ours.
 *
 * @param maker the script
 * @param scratch for what it writes
 * @param sources folders of packages
 * @param variables of its environment
 */
record PythonEnvironment(String maker, Path scratch, List<String> sources, Map<String, String> variables) {

  /** The Python side of the protocols. */
  static final String WIRE = "../orbitkv-core/src/main/python";

  /** With the released vLLM. */
  static final String VLLM = "../.ci/vllm-env";

  private static final String PLAIN = "../.ci/python-env";
  private static final int LIMIT_MINUTES = 10;

  PythonEnvironment(Path scratch, List<String> sources, Map<String, String> variables) {
    this(PLAIN, scratch, sources, variables);
  }

  /** Runs the tests of a folder, in which there must be some. */
  void runTests(String folder) throws IOException, InterruptedException {
    assertThat(run("-W", "error", "-m", "unittest", "discover", "-s", folder)).containsPattern("Ran [1-9][0-9]* tests");
  }

  /** Runs the tests of a module. */
  void runModule(String module) throws IOException, InterruptedException {
    assertThat(run("-m", "unittest", module)).containsPattern("Ran [1-9][0-9]* tests");
  }

  /** Checks the types of folders of files. */
  void checkTypes(String... folders) throws IOException, InterruptedException {
    List<String> words = new ArrayList<>(List.of(
        "-m", "mypy", "--config-file", WIRE + "/pyproject.toml", "--cache-dir", scratch.resolve("mypy").toString()));
    words.addAll(Arrays.asList(folders));
    run(words.toArray(String[]::new));
  }

  private String run(String... words) throws IOException, InterruptedException {
    String python = command(List.of(maker)).strip() + "/bin/python";
    return command(Stream.concat(Stream.of(python), Arrays.stream(words)).toList());
  }

  private String command(List<String> words) throws IOException, InterruptedException {
    Path output = Files.createTempFile(scratch, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().put("PYTHONPATH", String.join(":", sources));
    builder.environment().put("MYPYPATH", String.join(":", sources));
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    builder.environment().putAll(variables);
    Process process = builder.start();
    try {
      assertThat(process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)).as("%s ended in time", words).isTrue();
    } finally {
      process.destroyForcibly();
    }
    String text = Files.readString(output);
    assertThat(process.exitValue()).as(text).isZero();
    return text;
  }
}
