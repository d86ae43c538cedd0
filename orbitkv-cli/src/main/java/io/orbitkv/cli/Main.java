package io.orbitkv.cli;

import io.orbitkv.cli.terminal.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.logging.LogManager;

/** Starts the {@code orbitkv} command as a process. */
public final class Main {

  private static final String LOGGING = "java.util.logging.config.file";

  private Main() {}

  /**
   * Runs a command and ends the process with its exit code.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    if (System.getProperty(LOGGING) == null) {
      logFaultsOnly();
    }
    System.exit(new OrbitKv(Terminal.ofProcess(), CacheSettings::opener).run(args));
  }

  private static void logFaultsOnly() {
    try (InputStream properties = Main.class.getResourceAsStream("logging.properties")) {
      LogManager.getLogManager().readConfiguration(properties);
    } catch (IOException e) {
      throw new UncheckedIOException("the command's own logging.properties cannot be read", e);
    }
  }
}
