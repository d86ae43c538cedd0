package io.orbitkv.cli.terminal;

import java.io.PrintWriter;
import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarStyle;

/** A bar that is drawn over and over in one line of a terminal. */
final class ProgressLine implements Progress {

  /** Fits the narrowest common terminal. Asking for the true width would load the library's native code. */
  private static final int WIDTH = 79;

  private final ProgressBar bar;
  private final PrintWriter err;

  ProgressLine(PrintWriter err, String task, long total) {
    this.err = err;
    this.bar = ProgressBar.builder()
        .setTaskName(task)
        .setInitialMax(total)
        .setStyle(ProgressBarStyle.ASCII)
        .setUpdateIntervalMillis(200)
        .setConsumer(new DelegatingProgressBarConsumer(this::draw, WIDTH))
        .build();
  }

  @Override
  public void advanceTo(long done) {
    bar.stepTo(done);
  }

  @Override
  public void close() {
    bar.close();
    err.println();
  }

  private void draw(String line) {
    err.print("\r" + line);
    err.flush();
  }
}
