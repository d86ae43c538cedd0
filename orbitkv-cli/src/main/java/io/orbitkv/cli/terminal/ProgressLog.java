package io.orbitkv.cli.terminal;

import java.io.PrintWriter;

/** A plain line at every tenth of the way: for logs and pipes. */
final class ProgressLog implements Progress {

  private final PrintWriter err;
  private final String task;
  private final long total;
  private long nextTenth = 1;

  ProgressLog(PrintWriter err, String task, long total) {
    this.err = err;
    this.task = task;
    this.total = total;
  }

  @Override
  public void advanceTo(long done) {
    long tenths = total == 0 ? 10 : done * 10 / total;
    if (tenths >= nextTenth) {
      err.println(task + ": " + done + " of " + total);
      nextTenth = tenths + 1;
    }
  }
}
