package io.orbitkv.cli.process;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A command of this program as a process of its own. Its lines are read as they come. */
public final class ChildCommand implements AutoCloseable {

  /** How long a command may take from its start until it serves. */
  private static final Duration START_LIMIT = Duration.ofMinutes(5);

  private static final String READY = "ready";

  private final CountDownLatch ready = new CountDownLatch(1);
  private final Process process;
  private final String name;
  private final Thread reader;

  private ChildCommand(String name, Process process, Consumer<String> lines) {
    this.name = name;
    this.process = process;
    this.reader = Thread.ofPlatform().daemon().name("read " + name).start(() -> read(lines));
  }

  /**
   * Starts a command.
   *
   * @param name for messages
   * @param memory options of its JVM
   * @param arguments the command and its options
   * @param lines receives its lines, on a thread of its own
   */
  public static ChildCommand start(String name, List<String> memory, List<String> arguments, Consumer<String> lines) {
    try {
      Process process = new ProcessBuilder(ThisProgram.command(memory, arguments))
          .redirectError(ProcessBuilder.Redirect.INHERIT).start();
      return new ChildCommand(name, process, lines);
    } catch (IOException e) {
      throw new UnavailableException("'" + name + "' cannot be started: " + e.getMessage(), e);
    }
  }

  private void read(Consumer<String> lines) {
    try (var output = process.inputReader()) {
      output.lines().forEach(line -> {
        if (line.startsWith(READY)) {
          ready.countDown();
        }
        lines.accept(line);
      });
    } catch (IOException | UncheckedIOException e) {
      lines.accept("the output of " + name + " ended: " + e.getMessage());
    } finally {
      // Nobody waits for what is not going to be said.
      ready.countDown();
    }
  }

  /**
   * Waits until it says that it is ready, as every command does that serves.
   *
   * @throws UnavailableException if it ended before, or takes too long
   */
  public void awaitReady() throws InterruptedException {
    boolean said = ready.await(START_LIMIT.toNanos(), TimeUnit.NANOSECONDS);
    if (!said || !isAlive()) {
      close();
      throw new UnavailableException(this + (said ? " ended before it was ready; its own words are above"
          : " was not ready within " + START_LIMIT.toSeconds() + " s"));
    }
  }

  /** Returns its process id. */
  public long pid() {
    return process.pid();
  }

  /** Returns whether it runs. */
  public boolean isAlive() {
    return process.isAlive();
  }

  /** Sends a signal, by its name as kill(1) takes it. */
  public void signal(String signal) {
    try {
      int status = new ProcessBuilder("kill", "-" + signal, Long.toString(pid())).start().waitFor();
      if (status != 0 && process.isAlive()) {
        throw new UnavailableException("kill -" + signal + " " + pid() + " ended with " + status);
      }
    } catch (IOException e) {
      throw new UnavailableException("kill cannot be run: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends it at once, and waits until it is reaped and all its lines are read. */
  public void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor();
    reader.join();
  }

  /**
   * Waits for its end.
   *
   * @return its exit code, or -1 if it did not end in time
   */
  private int await(Duration limit) throws InterruptedException {
    if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
      return -1;
    }
    reader.join();
    return process.exitValue();
  }

  /** Tells it to end, and returns its exit code, or -1 if it did not end in time. */
  public int end(Duration limit) throws InterruptedException {
    signal("TERM");
    return await(limit);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  @Override
  public String toString() {
    return name + " (process " + pid() + ")";
  }
}
