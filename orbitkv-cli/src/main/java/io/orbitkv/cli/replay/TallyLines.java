package io.orbitkv.cli.replay;

import io.orbitkv.api.UnavailableException;
import java.io.PrintWriter;
import java.util.Arrays;

/**
 * What happened in a worker process, as lines of a word and numbers on its output. The parent reads them back into its
 * own count.
 */
final class TallyLines implements Tally {

  private static final String SERVED = "served";
  private static final String LOOKUP = "lookup";
  private static final String SSD_WAIT = "ssd-wait";
  private static final String RESTORED = "restored";
  private static final String SAVED = "saved";
  private static final String LOST = "lost";
  private static final String WRONG = "wrong";

  private final PrintWriter out;

  /** @param out the worker's output */
  TallyLines(PrintWriter out) {
    this.out = out;
  }

  @Override
  public void served(int blocks, int fromDram, int fromSsd) {
    line(SERVED, blocks, fromDram, fromSsd);
  }

  @Override
  public void lookup(long nanos) {
    line(LOOKUP, nanos);
  }

  @Override
  public void ssdWait(long nanos) {
    line(SSD_WAIT, nanos);
  }

  @Override
  public void restored(long bytes, long nanos) {
    line(RESTORED, bytes, nanos);
  }

  @Override
  public void saved(long bytes, long nanos) {
    line(SAVED, bytes, nanos);
  }

  @Override
  public void lost(int blocks) {
    line(LOST, blocks);
  }

  @Override
  public void wrongPage(int request, int block, int rank, int layer) {
    line(WRONG, request, block, rank, layer);
  }

  private void line(String word, long... numbers) {
    StringBuilder line = new StringBuilder(word);
    for (long number : numbers) {
      line.append(' ').append(number);
    }
    out.println(line);
  }

  /**
   * Counts what a line says.
   *
   * @throws UnavailableException if it says nothing that is known
   */
  static void count(String line, Tally tally) {
    String[] words = line.split(" ");
    try {
      long[] numbers = Arrays.stream(words).skip(1).mapToLong(Long::parseLong).toArray();
      switch (words[0]) {
        case SERVED -> tally.served((int) numbers[0], (int) numbers[1], (int) numbers[2]);
        case LOOKUP -> tally.lookup(numbers[0]);
        case SSD_WAIT -> tally.ssdWait(numbers[0]);
        case RESTORED -> tally.restored(numbers[0], numbers[1]);
        case SAVED -> tally.saved(numbers[0], numbers[1]);
        case LOST -> tally.lost((int) numbers[0]);
        case WRONG -> tally.wrongPage((int) numbers[0], (int) numbers[1], (int) numbers[2], (int) numbers[3]);
        default -> throw new UnavailableException("a worker said '" + line + "', which is no line of its protocol");
      }
    } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
      throw new UnavailableException("a worker said '" + line + "', which is no line of its protocol", e);
    }
  }
}
