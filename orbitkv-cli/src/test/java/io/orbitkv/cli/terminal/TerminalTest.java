package io.orbitkv.cli.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class TerminalTest {

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @Test
  void progress_inALog_isALineEveryTenth() {
    try (Progress progress = Terminal.of(new PrintWriter(out), new PrintWriter(err, true)).progress("work", 50)) {
      for (int done = 1; done <= 50; done++) {
        progress.advanceTo(done);
      }
    }
    assertThat(err.toString().lines()).hasSize(10).startsWith("work: 5 of 50").endsWith("work: 50 of 50");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void progress_onATerminal_isDrawnOverAndEndsItsLine() {
    Terminal terminal = new Terminal(new PrintWriter(out), new PrintWriter(err, true), true, true);
    try (Progress progress = terminal.progress("work", 50)) {
      progress.advanceTo(50);
    }
    assertThat(err.toString()).startsWith("\r").contains("work 100%", "50/50").endsWith("\n");
    assertThat(err.toString().split("[\r\n]")).allMatch(line -> line.length() < 80);
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void table_alignsItsColumns() {
    new Table("lr").line("name", "count").line("a", 1_000).line("longer", 7).print(new PrintWriter(out, true));

    assertThat(out.toString().lines()).containsExactly("  name    count", "  a        1000", "  longer      7");
  }
}
