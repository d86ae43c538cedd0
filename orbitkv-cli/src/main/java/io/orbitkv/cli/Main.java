package io.orbitkv.cli;

import io.orbitkv.cli.terminal.Terminal;

/** Starts the {@code orbitkv} command as a process. */
public final class Main {

  private static final String LOG_FORMAT = "java.util.logging.SimpleFormatter.format";

  private Main() {}

  /**
   * Runs a command and ends the process with its exit code.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    if (System.getProperty(LOG_FORMAT) == null) {
      System.setProperty(LOG_FORMAT, "%4$s: %5$s%n");
    }
    System.exit(new OrbitKv(Terminal.ofProcess(), CacheSettings::opener).run(args));
  }
}
