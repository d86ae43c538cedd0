package io.orbitkv.cli;

import io.orbitkv.cli.terminal.Terminal;

/** Starts the {@code orbitkv} command as a process. */
public final class Main {

  private Main() {}

  /**
   * Runs a command and ends the process with its exit code.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    System.exit(new OrbitKv(Terminal.ofProcess(), CacheSettings::opener).run(args));
  }
}
