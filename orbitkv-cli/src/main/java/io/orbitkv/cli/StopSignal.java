package io.orbitkv.cli;

import java.util.concurrent.CountDownLatch;

/**
 * Lets a command run until the process is told to end (SIGTERM, SIGINT), close what it opened, and end with 0: it did
 * what it was told. Without it the JVM ends with a code of its own.
 *
 * <p>Opened before everything that is to be closed in order, so that it is closed last.
 */
final class StopSignal implements AutoCloseable {

  private final CountDownLatch told = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread atExit = new Thread(this::stop, "orbitkv-stop");

  /** Waits for the signal from now on. */
  StopSignal() {
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /** Waits until the process is told to end. */
  void await() throws InterruptedException {
    told.await();
  }

  private void stop() {
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
    if (told.getCount() > 0) {
      // The command failed: its own exit code counts.
      Runtime.getRuntime().removeShutdownHook(atExit);
    }
    ended.countDown();
  }
}
