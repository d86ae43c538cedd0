package io.orbitkv.cli.logging;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RateLimitTest {

  private final ListAppender<ILoggingEvent> target = new ListAppender<>();
  private long now = Long.MAX_VALUE - 5; // where nanoTime may stand, and runs over
  private final RateLimit limit = new RateLimit(() -> now, target);

  @BeforeEach
  void start() {
    limit.start();
  }

  @Test
  void burst_isPassedOn_andTheRestIsCounted() {
    for (int i = 0; i < 100; i++) {
      log("a", "line " + i);
    }
    assertThat(target.list).hasSize(RateLimit.BURST);

    now += Duration.ofSeconds(1).toNanos();
    log("a", "later");

    assertThat(target.list).hasSize(RateLimit.BURST + 2);
    assertThat(target.list.get(RateLimit.BURST).getFormattedMessage())
        .isEqualTo("80 lines of this logger were left out, since it said too much");
    assertThat(target.list.get(RateLimit.BURST).getLoggerName()).isEqualTo("a");
    assertThat(target.list.getLast().getFormattedMessage()).isEqualTo("later");
  }

  @Test
  void otherLoggers_areNotSilenced() {
    for (int i = 0; i < 100; i++) {
      log("a", "line " + i);
    }
    log("b", "heard");

    assertThat(target.list.getLast().getFormattedMessage()).isEqualTo("heard");
  }

  @Test
  void twoLinesASecond_areNeverCut() {
    for (int i = 0; i < 1_000; i++) {
      log("a", "line " + i);
      now += Duration.ofMillis(500).toNanos();
    }
    assertThat(target.list).hasSize(1_000);
  }

  private void log(String logger, String message) {
    LoggingEvent event = new LoggingEvent();
    event.setLoggerName(logger);
    event.setThreadName("thread");
    event.setLevel(Level.WARN);
    event.setInstant(Instant.EPOCH);
    event.setMessage(message);
    limit.doAppend(event);
  }
}
