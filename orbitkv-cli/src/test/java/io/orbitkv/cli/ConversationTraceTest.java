package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The published conversation trace: what can be hit at all, counted apart from the product, and what a replay hits. */
class ConversationTraceTest {

  private static final int BLOCKS = 288_500;
  private static final int REPEATED_BLOCKS = 105_710;

  @TempDir
  private Path folder;

  private Path trace;

  @BeforeEach
  void findTrace() {
    trace = Path.of(System.getProperty("orbitkv.traces", "")).resolve("conversation_trace.jsonl");
    assertThat(trace).as("the system property orbitkv.traces must name the folder of the traces").isRegularFile();
  }

  @Test
  void aPlainSetOfIdsCountsTheLeadingRepeatedBlocks() throws IOException {
    Pattern ids = Pattern.compile("\"hash_ids\": \\[([0-9, ]*)]");
    Set<String> seen = new HashSet<>();
    int queried = 0;
    int hit = 0;
    for (String line : Files.readAllLines(trace)) {
      Matcher matcher = ids.matcher(line);
      assertThat(matcher.find()).as(line).isTrue();
      boolean leading = true;
      for (String id : matcher.group(1).split(", ")) {
        queried++;
        leading &= !seen.add(id);
        hit += leading ? 1 : 0;
      }
    }
    assertThat(queried).isEqualTo(BLOCKS);
    assertThat(hit).isEqualTo(REPEATED_BLOCKS);
  }

  @Test
  void aReplayWithRoomForAllHitsThemAll() throws IOException {
    Path json = folder.resolve("figures.json");

    Invocation run = Invocation.of("replay", "--trace", trace.toString(), "--dram", "768MiB", "--block-bytes", "512",
        "--layers", "2", "--json", json.toString());

    assertThat(run.exitCode()).as(run.err()).isZero();
    JsonNode figures = new JsonMapper().readTree(Files.readString(json));
    assertThat(figures.get("requests").intValue()).isEqualTo(12_031);
    assertThat(figures.get("blocks_queried").intValue()).isEqualTo(BLOCKS);
    assertThat(figures.get("blocks_hit_dram").intValue()).isEqualTo(REPEATED_BLOCKS);
    assertThat(figures.get("hit_rate").doubleValue()).isCloseTo(0.3664, within(0.00005));
    assertThat(figures.get("bytes_verified").longValue()).isEqualTo(REPEATED_BLOCKS * 512L);
    assertThat(figures.get("mismatches").intValue()).isZero();
  }
}
