package io.orbitkv.cli.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Passes on what each logger says, up to 20 lines at once and 2 a second in the long run. What is left out is counted,
 * and told before the logger's next line.
 */
final class RateLimit extends UnsynchronizedAppenderBase<ILoggingEvent> {

  static final int BURST = 20;
  private static final long NANOS_PER_LINE = Duration.ofMillis(500).toNanos();

  /** How far one logger has used up its lines. */
  private static final class Allowance {
    long freeAgainAt;
    long leftOut;
  }

  private final LongSupplier nanoTime;
  private final Appender<ILoggingEvent> target;
  private final Map<String, Allowance> allowances = new HashMap<>();

  RateLimit(LongSupplier nanoTime, Appender<ILoggingEvent> target) {
    this.nanoTime = nanoTime;
    this.target = target;
  }

  @Override
  public void start() {
    target.start();
    super.start();
  }

  @Override
  public void stop() {
    super.stop();
    target.stop();
  }

  @Override
  protected void append(ILoggingEvent event) {
    long leftOut = admit(event.getLoggerName());
    if (leftOut < 0) {
      return;
    }
    if (leftOut > 0) {
      target.doAppend(countOf(leftOut, event));
    }
    target.doAppend(event);
  }

  /** Returns how many lines were left out before this one, or -1 if this one is too. */
  private synchronized long admit(String logger) {
    long now = nanoTime.getAsLong();
    // A logger is a class, so the map is as small as the program.
    Allowance allowance = allowances.computeIfAbsent(logger, name -> {
      Allowance fresh = new Allowance();
      fresh.freeAgainAt = now;
      return fresh;
    });
    long freeAgainAt = now - allowance.freeAgainAt > 0 ? now : allowance.freeAgainAt;
    if (freeAgainAt - now > (BURST - 1) * NANOS_PER_LINE) {
      allowance.leftOut++;
      return -1;
    }
    allowance.freeAgainAt = freeAgainAt + NANOS_PER_LINE;
    long leftOut = allowance.leftOut;
    allowance.leftOut = 0;
    return leftOut;
  }

  private static ILoggingEvent countOf(long leftOut, ILoggingEvent next) {
    LoggingEvent event = new LoggingEvent();
    event.setLoggerName(next.getLoggerName());
    event.setThreadName(next.getThreadName());
    event.setLevel(Level.WARN);
    event.setInstant(Instant.ofEpochMilli(next.getTimeStamp()));
    event.setMessage(leftOut + " lines of this logger were left out, since it said too much");
    return event;
  }
}
