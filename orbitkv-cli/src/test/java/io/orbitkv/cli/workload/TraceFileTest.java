package io.orbitkv.cli.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceFileTest {

  private static final String LINE = "{\"timestamp\": 5, \"input_length\": 9, \"hash_ids\": [0, 1, 2]}";

  @TempDir
  private Path folder;

  @Test
  void read_takesBlockIdsInOrder() throws IOException {
    Workload workload = trace(LINE, "", "{\"hash_ids\": [0, 1, 7, 8]}").read(Integer.MAX_VALUE);

    assertThat(workload.name()).isEqualTo("trace.jsonl");
    assertThat(workload.prompts()).extracting(PrefixChain::blocks).containsExactly(3, 4);
    PrefixChain first = workload.prompts().get(0);
    PrefixChain second = workload.prompts().get(1);
    assertThat(second.first(2)).isEqualTo(first.first(2));
    assertThat(second.hash(2)).isNotEqualTo(first.hash(2));
  }

  @Test
  void read_stopsAtTheLimit() throws IOException {
    assertThat(trace(LINE, LINE, "not read").read(2).prompts()).hasSize(2);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '\'', value = {
      "nonsense | not JSON",
      "{\"hash_ids\": [0, 1 | not JSON",
      "{\"ids\": [1]} | expected an object with an array 'hash_ids'",
      "[1, 2] | expected an object with an array 'hash_ids'",
      "{\"hash_ids\": [1, -2]} | hash_ids[1] is -2",
      "{\"hash_ids\": [1.5]} | hash_ids[0] is 1.5",
      "{\"hash_ids\": [\"a\"]} | hash_ids[0] is",
      "{\"hash_ids\": [2147483648]} | hash_ids[0] is 2147483648"
  })
  void read_namesTheMalformedLine(String line, String why) throws IOException {
    TraceFile trace = trace(LINE, "", line, LINE);

    assertThatThrownBy(() -> trace.read(Integer.MAX_VALUE))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("trace.jsonl' line 3: ")
        .hasMessageContaining(why.replace("''", "'"));
  }

  @Test
  void read_refusesAFileWithoutRequests() throws IOException {
    TraceFile empty = trace("", "");
    assertThatThrownBy(() -> empty.read(1)).isInstanceOf(RefusedException.class).hasMessageContaining("no request");
  }

  @Test
  void read_refusesAFileThatIsNotThere() {
    TraceFile absent = new TraceFile(folder.resolve("absent.jsonl"));
    assertThatThrownBy(() -> absent.read(1)).isInstanceOf(RefusedException.class).hasMessageContaining("absent.jsonl");
  }

  private TraceFile trace(String... lines) throws IOException {
    return new TraceFile(Files.write(folder.resolve("trace.jsonl"), List.of(lines)));
  }
}
