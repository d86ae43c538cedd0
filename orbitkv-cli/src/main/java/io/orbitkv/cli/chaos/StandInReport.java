package io.orbitkv.cli.chaos;

import io.orbitkv.api.UnavailableException;
import java.util.Locale;
import java.util.Scanner;

/**
 * What a stand-in has done so far, as it tells it in a line.
 *
 * @param requests prompts served
 * @param blocksHit blocks restored
 * @param blocksSaved blocks committed
 * @param bytesVerified restored bytes compared
 * @param mismatches blocks restored with a wrong byte
 * @param without requests in which the cache could not be used: it was gone, busy or ended a lease
 * @param longestMillis the longest request since the last report, without its own pauses
 */
public record StandInReport(long requests, long blocksHit, long blocksSaved, long bytesVerified, long mismatches,
    long without, long longestMillis) {

  /** Of a stand-in that has done nothing. */
  public static final StandInReport NOTHING = new StandInReport(0, 0, 0, 0, 0, 0, 0);

  private static final String WORD = "report";

  /** Returns the sums of both, and the longer of the longest. */
  StandInReport plus(StandInReport other) {
    return new StandInReport(requests + other.requests, blocksHit + other.blocksHit, blocksSaved + other.blocksSaved,
        bytesVerified + other.bytesVerified, mismatches + other.mismatches, without + other.without,
        Math.max(longestMillis, other.longestMillis));
  }

  /** Returns the same with another longest request. */
  StandInReport withLongest(long millis) {
    return new StandInReport(requests, blocksHit, blocksSaved, bytesVerified, mismatches, without, millis);
  }

  /** Returns the blocks that went to or came from the cache; grows only while there is one. */
  long blocksServed() {
    return blocksHit + blocksSaved;
  }

  static boolean isReport(String line) {
    return line.startsWith(WORD + " ");
  }

  static StandInReport parse(String line) {
    try (Scanner fields = new Scanner(line).useLocale(Locale.ROOT)) {
      fields.next();
      return new StandInReport(fields.nextLong(), fields.nextLong(), fields.nextLong(), fields.nextLong(),
          fields.nextLong(), fields.nextLong(), fields.nextLong());
    } catch (RuntimeException e) {
      throw new UnavailableException("a stand-in reported '" + line + "', which is no report", e);
    }
  }

  /** Returns the line that {@link #parse} reads. */
  public String line() {
    return String.join(" ", WORD, Long.toString(requests), Long.toString(blocksHit), Long.toString(blocksSaved),
        Long.toString(bytesVerified), Long.toString(mismatches), Long.toString(without), Long.toString(longestMillis));
  }
}
