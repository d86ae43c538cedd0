package io.orbitkv.cli.logging;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.ContextAwareBase;
import org.slf4j.LoggerFactory;

/**
 * The log of a command, on standard error. A command that ends shows faults, a line each for a person; one that serves
 * calls {@link #ofService} and logs JSON for a collector, also its course.
 *
 * <p>Logback finds it as a service and asks it first. Set up in code: reading a configuration file would cost every
 * command a parser's start. Who wants another set-up names a file with {@code -Dlogback.configurationFile}.
 */
public final class CommandLog extends ContextAwareBase implements Configurator {

  private static final String CONFIGURATION = "logback.configurationFile";

  /** Lines that wait for a slow reader of the log; then they are left out, since no line is worth a stuck Manager. */
  private static final int QUEUE_LINES = 1024;

  /** The log of a service. Closing it writes what still waits. */
  public interface ServiceLog extends AutoCloseable {
    @Override
    void close();
  }

  /** Called by Logback. */
  public CommandLog() {}

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    if (System.getProperty(CONFIGURATION) != null) {
      return ExecutionStatus.INVOKE_NEXT_IF_ANY;
    }
    PatternLayoutEncoder line = new PatternLayoutEncoder();
    line.setPattern("%level: %replace(%message){'[\r\n]+\\s*', ' '}%n%nopexception");
    attach(context, Level.WARN, console(context, line));
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }

  /**
   * Turns the log into that of a service, from {@link java.lang.System.Logger.Level#INFO} on, unless a configuration
   * file is named. No thread that logs waits for who reads the log; a logger that says more than it should is cut
   * short.
   *
   * @return closed by the service at its end, so that the last lines are written
   */
  public static ServiceLog ofService() {
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    if (System.getProperty(CONFIGURATION) == null) {
      context.reset();
      JsonEncoder json = new JsonEncoder();
      json.setWithSequenceNumber(false);
      json.setWithNanoseconds(false);
      json.setWithContext(false);
      json.setWithMDC(false);
      json.setWithMarkers(false);
      json.setWithArguments(false);
      json.setWithKVPList(false);
      AsyncAppender apart = new AsyncAppender();
      apart.setContext(context);
      apart.setQueueSize(QUEUE_LINES);
      apart.setDiscardingThreshold(0);
      apart.setNeverBlock(true);
      apart.addAppender(console(context, json));
      RateLimit limit = new RateLimit(System::nanoTime, apart);
      attach(context, Level.INFO, limit);
    }
    return context::stop;
  }

  private static ConsoleAppender<ILoggingEvent> console(LoggerContext context, Encoder<ILoggingEvent> encoder) {
    encoder.setContext(context);
    encoder.start();
    ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
    console.setContext(context);
    console.setTarget("System.err");
    console.setEncoder(encoder);
    console.start();
    return console;
  }

  private static void attach(LoggerContext context, Level level, Appender<ILoggingEvent> appender) {
    appender.setContext(context);
    appender.start();
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.setLevel(level);
    root.addAppender(appender);
  }
}
