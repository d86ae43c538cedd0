package io.orbitkv.cli.manager;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process that a test starts, tells lines, and kills. */
final class TestProcess implements AutoCloseable {

  private final Process process;
  private final BufferedReader from;
  private final PrintWriter to;

  private TestProcess(List<String> command) throws IOException {
    this.process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    this.from = process.inputReader();
    this.to = new PrintWriter(process.outputWriter(), true);
  }

  /** Starts the {@code orbitkv} command. */
  static TestProcess orbitkv(String... arguments) throws IOException {
    List<String> command = java();
    command.addAll(List.of("--module", "io.orbitkv.cli/io.orbitkv.cli.Main"));
    command.addAll(List.of(arguments));
    return new TestProcess(command);
  }

  /** Starts a {@link MemberProcess}. */
  static TestProcess member(Path socket, String instance, long incarnation, int member, int ranks) throws IOException {
    List<String> command = java();
    command.addAll(List.of("--add-modules", "io.orbitkv.core", "--class-path",
        Path.of("target", "test-classes").toString(), MemberProcess.class.getName(), socket.toString(), instance,
        Long.toString(incarnation), Integer.toString(member), Integer.toString(ranks)));
    return new TestProcess(command);
  }

  private static List<String> java() {
    return new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED,io.orbitkv.backend.dram",
        "--module-path", System.getProperty("jdk.module.path")));
  }

  long pid() {
    return process.pid();
  }

  /** Tells it a line and returns what it answers. */
  String ask(String line) throws IOException {
    to.println(line);
    return read();
  }

  /** Returns its next line. */
  String read() throws IOException {
    String line = from.readLine();
    if (line == null) {
      throw new AssertionError("process " + process.pid() + " ended");
    }
    return line;
  }

  void signal(String name) throws IOException, InterruptedException {
    if (new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor() != 0) {
      throw new AssertionError("process " + process.pid() + " was not signalled");
    }
  }

  /** Waits for its end and returns its exit code. */
  int awaitEnd() throws InterruptedException {
    if (!process.waitFor(2, TimeUnit.MINUTES)) {
      throw new AssertionError("process " + process.pid() + " did not end within 2 min");
    }
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
