package io.orbitkv.cli.chaos;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The agent of one rank in a process of its own, reached through a relay, and through another to the Manager. */
final class RankAgent implements AutoCloseable {

  private final String name;
  private final Path socket;
  private final Relay fromEngine;
  private final Relay toManager;
  private AgentProcess process;

  /**
   * Makes the way to it, and starts nothing.
   *
   * @param name for messages and sockets
   * @param folder of this user alone, for its socket
   * @param manager the Manager's socket
   */
  RankAgent(String name, Path folder, Path manager) {
    this.name = name;
    this.socket = folder.resolve(name + ".sock");
    this.fromEngine = new Relay(folder.resolve(name + ".relay"), socket);
    this.toManager = new Relay(manager.resolveSibling(name + ".relay"), manager);
  }

  /** Starts it and waits until it listens. */
  void start() throws InterruptedException {
    process = new AgentProcess(socket, toManager.socket(), List.of());
    process.awaitReady();
  }

  /** Returns where its engine finds it. */
  Path socket() {
    return fromEngine.socket();
  }

  String name() {
    return name;
  }

  /** Cuts what its engine has to it. */
  void cutFromEngine() {
    fromEngine.cut();
  }

  /** Cuts what it has to the Manager. */
  void cutFromManager() {
    toManager.cut();
  }

  void signal(String signal) {
    process.signal(signal);
  }

  void kill() throws InterruptedException {
    process.kill();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Tells it to end, and returns its exit code, or -1 if it did not end in time. */
  int end(Duration limit) throws InterruptedException {
    return process.end(limit);
  }

  @Override
  public void close() {
    if (process != null) {
      process.close();
    }
    fromEngine.close();
    toManager.close();
  }
}
