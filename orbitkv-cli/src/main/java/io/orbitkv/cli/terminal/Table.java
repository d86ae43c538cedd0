package io.orbitkv.cli.terminal;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Lines of cells in columns, for a person to read. Not thread-safe. */
public final class Table {

  private final String alignment;
  private final List<String[]> lines = new ArrayList<>();

  /**
   * @param alignment one letter a column: l for words, r for numbers
   */
  public Table(String alignment) {
    this.alignment = alignment;
  }

  /**
   * Adds a line.
   *
   * @param cells one a column
   * @return this table
   */
  public Table line(Object... cells) {
    String[] texts = new String[alignment.length()];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = String.valueOf(cells[i]);
    }
    lines.add(texts);
    return this;
  }

  /**
   * Prints the lines.
   *
   * @param out where to
   */
  public void print(PrintWriter out) {
    int[] widths = new int[alignment.length()];
    for (String[] line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line[i].length());
      }
    }
    for (String[] line : lines) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        String padding = " ".repeat(widths[i] - line[i].length());
        text.append("  ").append(alignment.charAt(i) == 'r' ? padding + line[i] : line[i] + padding);
      }
      out.println(text.toString().stripTrailing());
    }
  }
}
