package io.orbitkv.cli.terminal;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Where a command writes: results to {@code out}, everything else to {@code err}.
 *
 * @param out results; flushed at each line
 * @param err progress, notes and errors; flushed at each line
 * @param colours whether {@code out} may carry colours
 * @param live whether {@code err} is a terminal, on which a line can be drawn over
 */
public record Terminal(PrintWriter out, PrintWriter err, boolean colours, boolean live) {

  /** Returns the process's own streams. Colours are off where {@code NO_COLOR} is set. */
  public static Terminal ofProcess() {
    boolean colours = isTerminal(1) && System.getenv("NO_COLOR") == null;
    return new Terminal(writer(FileDescriptor.out), writer(FileDescriptor.err), colours, isTerminal(2));
  }

  /** Returns a terminal that nobody looks at, for output that is kept. */
  public static Terminal of(PrintWriter out, PrintWriter err) {
    return new Terminal(out, err, false, false);
  }

  /**
   * Starts to report progress on {@code err}: a bar on a terminal, else a line every tenth of the way.
   *
   * @param task what is done
   * @param total how many steps it has
   * @return the progress, to be closed at the end
   */
  public Progress progress(String task, long total) {
    return live ? new ProgressLine(err, task, total) : new ProgressLog(err, task, total);
  }

  private static PrintWriter writer(FileDescriptor descriptor) {
    return new PrintWriter(new FileOutputStream(descriptor), true, StandardCharsets.UTF_8);
  }

  /** Java tells of standard input and output together only, so the link that the kernel keeps is read. */
  private static boolean isTerminal(int descriptor) {
    try {
      String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)).toString();
      return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty") || target.equals("/dev/console");
    } catch (IOException e) {
      return false;
    }
  }
}
