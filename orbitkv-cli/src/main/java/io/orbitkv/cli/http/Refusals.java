package io.orbitkv.cli.http;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.LongSupplier;

/** Logs requests with a wrong token: one line in ten seconds, however many come. Thread-safe. */
final class Refusals {

  private static final long PAUSE_NANOS = Duration.ofSeconds(10).toNanos();

  private final Logger log;
  private final LongSupplier nanoTime;
  private long loggedAt;
  private long unlogged;
  private boolean any;

  Refusals(Logger log, LongSupplier nanoTime) {
    this.log = log;
    this.nanoTime = nanoTime;
  }

  /**
   * @param from where the request came from
   * @param path a path that this server has, so that the log holds nothing a stranger made up
   */
  synchronized void wrongToken(String from, String path) {
    long now = nanoTime.getAsLong();
    if (any && now - loggedAt < PAUSE_NANOS) {
      unlogged++;
      return;
    }
    log.log(Level.WARNING, "HTTP request for " + path + " from " + from + " without the right token was refused"
        + (unlogged > 0 ? ", and " + unlogged + " more since the last such line" : ""));
    any = true;
    loggedAt = now;
    unlogged = 0;
  }
}
