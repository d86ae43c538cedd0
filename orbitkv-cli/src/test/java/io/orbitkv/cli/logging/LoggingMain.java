package io.orbitkv.cli.logging;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** A program that logs, for a process of its own: a log belongs to a whole process. */
public final class LoggingMain {

  /** How often one thing is said. */
  static final int AGAIN = 1000;

  private LoggingMain() {}

  /**
   * @param args "service" for the log of a service
   */
  public static void main(String[] args) {
    Logger log = System.getLogger("io.orbitkv.core.Planted");
    log.log(Level.WARNING, "before {0}", "all");
    if (args.length > 0) {
      try (CommandLog.ServiceLog _ = CommandLog.ofService()) {
        logAll(log);
      }
    } else {
      logAll(log);
    }
  }

  private static void logAll(Logger log) {
    log.log(Level.DEBUG, "detail");
    log.log(Level.INFO, "course");
    log.log(Level.WARNING, "fault \"quoted\"\nand a second line");
    log.log(Level.ERROR, "failure", new IllegalStateException("broken"));
    for (int i = 0; i < AGAIN; i++) {
      log.log(Level.WARNING, "again " + i);
    }
  }
}
