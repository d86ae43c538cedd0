package io.orbitkv.cli.replay;

import io.orbitkv.api.UnavailableException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A {@link Worker} in a process of its own, as its parent sees it. Used by one thread at a time. */
final class WorkerProcess implements AutoCloseable {

  private static final Duration END_LIMIT = Duration.ofSeconds(20);

  private final String name;
  private final Process process;
  private final BufferedReader from;
  private final PrintWriter to;

  /**
   * Starts it.
   *
   * @param name for messages, as "rank 0"
   * @param command its command line; what it writes to its error output goes to this process's
   */
  WorkerProcess(String name, List<String> command) {
    this.name = name;
    try {
      this.process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    } catch (IOException e) {
      throw new UnavailableException(name + " cannot be started: " + e.getMessage(), e);
    }
    this.from = process.inputReader();
    this.to = new PrintWriter(process.outputWriter(), true);
  }

  /** Tells it a line; {@link #await} finds out if it does not hear. */
  void tell(String line) {
    to.println(line);
  }

  /**
   * Reads until it says a word.
   *
   * @param word the end of what it does
   * @param tally counts what it says before
   * @return whether it said that; else the cache went before it was granted what it was told to restore
   * @throws UnavailableException if it failed or ended
   */
  boolean await(String word, Tally tally) {
    try {
      for (String line = from.readLine(); line != null; line = from.readLine()) {
        if (line.equals(word)) {
          return true;
        }
        if (line.equals(Worker.NOT_GRANTED)) {
          return false;
        }
        if (line.startsWith(Worker.FAILED)) {
          throw new UnavailableException(name + " failed: " + line.substring(Worker.FAILED.length()));
        }
        TallyLines.count(line, tally);
      }
    } catch (IOException e) {
      throw new UnavailableException(name + " cannot be read: " + e.getMessage(), e);
    }
    throw new UnavailableException(name + ", process " + process.pid() + ", ended before it was done");
  }

  /** Ends its input, and then it if it does not end by itself. */
  @Override
  public void close() {
    to.close();
    try {
      if (!process.waitFor(END_LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
