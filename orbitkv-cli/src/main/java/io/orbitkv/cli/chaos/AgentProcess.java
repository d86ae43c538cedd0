package io.orbitkv.cli.chaos;

import io.orbitkv.cli.process.ChildCommand;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** An agent in a process of its own. */
final class AgentProcess implements AutoCloseable {

  private static final List<String> HEAP = List.of("-XX:+UseSerialGC", "-Xmx64m", "-XX:TieredStopAtLevel=1");

  private final ChildCommand child;

  /**
   * Starts one.
   *
   * @param socket where its engine finds it
   * @param manager the Manager's socket
   * @param options further options of the command
   */
  AgentProcess(Path socket, Path manager, List<String> options) {
    List<String> arguments =
        new ArrayList<>(List.of("agent", "--socket", socket.toString(), "--manager", manager.toString()));
    arguments.addAll(options);
    child = ChildCommand.start("agent at " + socket.getFileName(), HEAP, arguments, line -> {});
  }

  /** Waits until it listens. */
  void awaitReady() throws InterruptedException {
    child.awaitReady();
  }

  /** Sends a signal, by its name as kill(1) takes it. */
  void signal(String signal) {
    child.signal(signal);
  }

  /** Ends it at once, and waits until it is reaped. */
  void kill() throws InterruptedException {
    child.kill();
  }

  boolean isAlive() {
    return child.isAlive();
  }

  /** Tells it to end, and returns its exit code, or -1 if it did not end in time. */
  int end(Duration limit) throws InterruptedException {
    return child.end(limit);
  }

  @Override
  public void close() {
    child.close();
  }
}
