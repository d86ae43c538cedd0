package io.orbitkv.cli.chaos;

import io.orbitkv.cli.process.ChildCommand;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** An engine stand-in in a process of its own, reached through a relay of its own. */
final class StandInProcess implements AutoCloseable {

  private static final List<String> HEAP = List.of("-XX:+UseSerialGC", "-Xmx192m");

  private final String name;
  private final Relay relay;
  private final ChildCommand child;
  private volatile StandInReport last = StandInReport.NOTHING;
  private volatile long longestMillis;

  /**
   * Starts one.
   *
   * @param name of its instance
   * @param manager the Manager's socket
   * @param blockBytes bytes of its blocks
   * @param seed decides what it does
   * @param options further options of the command
   */
  StandInProcess(String name, Path manager, int blockBytes, long seed, List<String> options) {
    this.name = name;
    this.relay = new Relay(manager.resolveSibling(name + "-" + Long.toHexString(seed) + ".relay"), manager);
    List<String> arguments = new ArrayList<>(List.of("stand-in", "--manager", relay.socket().toString(), "--instance", name,
        "--block-bytes", blockBytes + "B", "--seed", Long.toString(seed)));
    arguments.addAll(options);
    this.child = ChildCommand.start(name, HEAP, arguments, this::line);
  }

  private void line(String line) {
    if (StandInReport.isReport(line)) {
      StandInReport report = StandInReport.parse(line);
      last = report;
      longestMillis = Math.max(longestMillis, report.longestMillis());
    }
  }

  String name() {
    return name;
  }

  StandInReport report() {
    return last;
  }

  /** Returns the longest request since the last call. */
  long takeLongestMillis() {
    long longest = longestMillis;
    longestMillis = 0;
    return longest;
  }

  /** Cuts what it has to the Manager by itself: all, or its scheduler's. */
  void cut() {
    relay.cut();
  }

  void signal(String signal) {
    child.signal(signal);
  }

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
    relay.close();
  }
}
