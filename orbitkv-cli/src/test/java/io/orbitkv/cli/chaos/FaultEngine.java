package io.orbitkv.cli.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** An engine in Python, {@code fault_engine.py}, which does what it is told, a line each, and answers each with a line. */
final class FaultEngine implements AutoCloseable {

  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final String PACKAGES = "../orbitkv-core/src/main/python";
  private static final String SCRIPT = "src/test/python/fault_engine.py";

  private final Process process;
  private final PrintWriter to;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private final Path pools;

  /**
   * Starts one.
   *
   * @param python an interpreter that has msgspec
   * @param instance its name
   * @param pools an empty folder on tmpfs for its pages, which is its own
   */
  FaultEngine(String python, String instance, Path pools) throws IOException, InterruptedException {
    this.pools = Files.createDirectory(pools);
    ProcessBuilder builder = new ProcessBuilder(python, "-W", "error", SCRIPT, instance, pools.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().put("PYTHONPATH", PACKAGES);
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    this.process = builder.start();
    this.to = new PrintWriter(process.outputWriter(), true);
    Thread.ofPlatform().daemon().name("read " + instance).start(this::read);
    assertThat(answer()).isEqualTo("ready");
  }

  private void read() {
    try (var lines = process.inputReader()) {
      lines.lines().forEach(answers::add);
    } catch (IOException | UncheckedIOException e) {
      answers.add("ended: " + e.getMessage());
    }
  }

  /** Tells it something, and does not wait for the answer. */
  void tell(String line) {
    to.println(line);
  }

  /** Returns its next answer. */
  String answer() throws InterruptedException {
    String answer = answers.poll(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    assertThat(answer).as("an answer of the engine in " + pools).isNotNull().doesNotStartWith("failed");
    return answer;
  }

  /** Tells it something and returns the answer. */
  String ask(String line) throws InterruptedException {
    tell(line);
    return answer();
  }

  /** Ends it at once. What it left of its pages goes, as its launcher would see to. */
  void kill() throws IOException, InterruptedException {
    process.destroyForcibly().waitFor();
    try (Stream<Path> files = Files.list(pools)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(pools);
  }

  /** Ends its input, and checks that it ends in order and leaves nothing. */
  void end() throws IOException, InterruptedException {
    to.close();
    assertThat(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isZero();
    Files.delete(pools);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
