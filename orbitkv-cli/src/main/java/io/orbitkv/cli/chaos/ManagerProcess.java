package io.orbitkv.cli.chaos;

import io.orbitkv.api.ByteSize;
import io.orbitkv.cli.process.ChildCommand;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A Manager in a process of its own. */
public final class ManagerProcess implements AutoCloseable {

  private static final List<String> HEAP = List.of("-XX:+UseZGC", "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch");

  private final ChildCommand child;

  /**
   * Starts one and waits until it serves.
   *
   * @param runtime its runtime folder
   * @param dram its memory
   * @param ssd the folder of its store
   * @param ssdBytes the store's size
   * @param options further options of the command; it serves no HTTP unless they say so
   */
  public ManagerProcess(Path runtime, ByteSize dram, Path ssd, ByteSize ssdBytes, List<String> options)
      throws InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("manager", "--runtime", runtime.toString(), "--dram",
        dram.bytes() + "B", "--ssd", ssd + ":" + ssdBytes.bytes() + "B"));
    arguments.addAll(options.contains("--http") ? List.of() : List.of("--http", "off"));
    arguments.addAll(options);
    child = ChildCommand.start("Manager", HEAP, arguments, line -> {});
    child.awaitReady();
  }

  /** Returns its process id. */
  public long pid() {
    return child.pid();
  }

  /** Sends a signal, by its name as kill(1) takes it. */
  public void signal(String signal) {
    child.signal(signal);
  }

  /** Ends it at once, and waits until it is reaped. */
  public void kill() throws InterruptedException {
    child.kill();
  }

  /** Returns whether it runs. */
  public boolean isAlive() {
    return child.isAlive();
  }

  /** Tells it to end, and returns its exit code, or -1 if it did not end in time. */
  public int end(Duration limit) throws InterruptedException {
    return child.end(limit);
  }

  @Override
  public void close() {
    child.close();
  }
}
