package io.orbitkv.api;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number of bytes as people write it: {@code 64KiB}, {@code 320000KiB}, {@code 1GiB}, {@code 4096}, {@code 4096B}.
 * Units are powers of 1,024; decimal units and fractions are refused, since a size that means two things is a fault
 * waiting for its day.
 *
 * @param bytes zero or more
 */
public record ByteSize(long bytes) implements Comparable<ByteSize> {

  private static final Pattern FORM = Pattern.compile("(\\d{1,18})\\s*(B|KiB|MiB|GiB|TiB)?");

  /** Checks the sign. */
  public ByteSize {
    if (bytes < 0) {
      throw new RefusedException("size is " + bytes + " bytes, expected zero or more");
    }
  }

  /**
   * Reads a size.
   *
   * @param text digits and an optional unit
   * @return the size
   * @throws RefusedException if the text is anything else or over 2^63 - 1 bytes
   */
  public static ByteSize parse(String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches()) {
      throw new RefusedException("size '" + text + "' is not a number with B, KiB, MiB, GiB or TiB, as in 64KiB or 1GiB");
    }
    int shift = switch (form.group(2)) {
      case "KiB" -> 10;
      case "MiB" -> 20;
      case "GiB" -> 30;
      case "TiB" -> 40;
      case null, default -> 0;
    };
    long number = Long.parseLong(form.group(1));
    if (number > Long.MAX_VALUE >> shift) {
      throw new RefusedException("size '" + text + "' is over " + Long.MAX_VALUE + " bytes");
    }
    return new ByteSize(number << shift);
  }

  @Override
  public int compareTo(ByteSize other) {
    return Long.compare(bytes, other.bytes);
  }

  /** Returns the size in the largest unit that keeps it whole, or with one decimal from 10 MiB on. */
  @Override
  public String toString() {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (unit < 4 && bytes >= 1024L << (10 * unit)) {
      unit++;
    }
    long whole = bytes >> (10 * unit);
    if (whole << (10 * unit) == bytes) {
      return whole + units[unit];
    }
    return String.format(Locale.ROOT, "%.1f%s", bytes / (double) (1L << (10 * unit)), units[unit]);
  }
}
