package io.orbitkv.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.CountDownLatch;

/**
 * Lets a command run until the process is told to end (SIGTERM, SIGINT, or the end of a stream), close what it opened,
 * and end with 0: it did what it was told. Without it the JVM ends with a code of its own.
 *
 * <p>Opened before everything that is to be closed in order, so that it is closed last.
 */
final class StopSignal implements AutoCloseable {

  private final CountDownLatch told = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread atExit = new Thread(this::stop, "orbitkv-stop");
  private volatile boolean signalled;

  /** Waits for the signal from now on. */
  StopSignal() {
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /**
   * Takes the end of a stream for being told, too: that of a pipe comes when its writer has ended, however it ended. A
   * thread reads it, and drops what it reads.
   */
  void orAtTheEndOf(InputStream input) {
    Thread.ofPlatform().daemon().name("orbitkv-stdin").start(() -> {
      try {
        input.transferTo(OutputStream.nullOutputStream());
      } catch (IOException e) {
        // A stream that cannot be read has no writer either.
      }
      told.countDown();
    });
  }

  /** Waits until the process is told to end. */
  void await() throws InterruptedException {
    told.await();
  }

  /** Returns whether the process was told to end. */
  boolean isTold() {
    return told.getCount() == 0;
  }

  private void stop() {
    signalled = true;
    told.countDown();
    try {
      ended.await();
    } catch (InterruptedException e) {
      return;
    }
    Runtime.getRuntime().halt(ExitCode.OK);
  }

  /** Everything is closed. */
  @Override
  public void close() {
    if (!signalled) {
      try {
        // The command's own exit code counts.
        Runtime.getRuntime().removeShutdownHook(atExit);
      } catch (IllegalStateException e) {
        // A signal came just now.
      }
    }
    ended.countDown();
  }
}
