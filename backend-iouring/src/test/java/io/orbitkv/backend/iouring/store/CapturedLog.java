package io.orbitkv.backend.iouring.store;

import java.util.List;
import java.util.ResourceBundle;
import java.util.concurrent.CopyOnWriteArrayList;

/** Keeps what is logged, so that a test can ask for it and says nothing itself. */
final class CapturedLog implements System.Logger {

  final List<String> lines = new CopyOnWriteArrayList<>();

  @Override
  public String getName() {
    return "captured";
  }

  @Override
  public boolean isLoggable(Level level) {
    return true;
  }

  @Override
  public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
    add(level + " " + message);
  }

  @Override
  public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
    add(level + " " + format);
  }

  private synchronized void add(String line) {
    lines.add(line);
    notifyAll();
  }

  /** Waits for a line that contains a text; the test's own time limit bounds it. */
  synchronized void await(String text) throws InterruptedException {
    while (lines.stream().noneMatch(line -> line.contains(text))) {
      wait();
    }
  }
}
