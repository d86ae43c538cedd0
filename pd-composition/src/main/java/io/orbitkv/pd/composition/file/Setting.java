package io.orbitkv.pd.composition.file;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A value in a file, and the line that it begins in, from 1. Also what a process answers, where lines mean little. */
public sealed interface Setting {

  /** Returns the line. */
  int line();

  /**
   * Named values, in the order of the file.
   *
   * @param line where it begins
   * @param values by name
   */
  record Table(int line, Map<String, Setting> values) implements Setting {
    /** Copies the values. */
    public Table {
      values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }
  }

  /**
   * Values in a row.
   *
   * @param line where it begins
   * @param values one after another
   */
  record Row(int line, List<Setting> values) implements Setting {
    /** Copies the values. */
    public Row {
      values = List.copyOf(values);
    }
  }

  /**
   * A text.
   *
   * @param line where it stands
   * @param value the text
   */
  record Text(int line, String value) implements Setting {}

  /**
   * A whole number.
   *
   * @param line where it stands
   * @param value the number
   */
  record Whole(int line, long value) implements Setting {}

  /**
   * Yes or no.
   *
   * @param line where it stands
   * @param value which
   */
  record Switch(int line, boolean value) implements Setting {}

  /**
   * Anything else: nothing at all, a fraction.
   *
   * @param line where it stands
   * @param text as it is written
   */
  record Other(int line, String text) implements Setting {}
}
