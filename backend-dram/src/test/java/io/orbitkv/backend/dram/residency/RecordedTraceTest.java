package io.orbitkv.backend.dram.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntToLongFunction;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Replays recorded and generated workloads with every policy, holds the figures against the known ones, and holds the
 * table of {@code docs/policies.md} against the figures. {@code -Dorbitkv.write-docs} writes that table anew.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RecordedTraceTest {

  private static final List<ResidencyPolicy> POLICIES =
      List.of(new LruPolicy(), new TinyLfuPolicy(), new HitDensityPolicy());
  private static final String LRU = "lru";
  private static final String DEFAULT = "hit-density";
  private static final String NAIVE = "LRU, written another way";
  private static final String BOUND = "clairvoyant bound";
  private static final int[] CAPACITIES = {1_000, 4_000, 10_000, 20_000};

  private final List<Trace> traces = List.of(Trace.recorded("conversation"), Trace.recorded("synthetic"),
      Trace.multiTurn(1), Trace.sharedPrefix(1), Trace.longDocuments(1));
  private final Map<String, Map<String, long[]>> hits = new LinkedHashMap<>();

  @BeforeAll
  void replayAll() {
    for (Trace trace : traces) {
      Map<String, long[]> rows = new LinkedHashMap<>();
      for (ResidencyPolicy policy : POLICIES) {
        rows.put(policy.name(), row(capacity -> replay(trace, policy.name(), capacity)));
      }
      rows.put(NAIVE, row(capacity -> NaiveLru.hits(trace, capacity)));
      rows.put(BOUND, row(capacity -> Clairvoyant.hits(trace, capacity)));
      hits.put(trace.name(), rows);
    }
  }

  private static long[] row(IntToLongFunction hits) {
    long[] row = new long[CAPACITIES.length];
    for (int i = 0; i < row.length; i++) {
      row[i] = hits.applyAsLong(CAPACITIES[i]);
    }
    return row;
  }

  private static long replay(Trace trace, String policy, int capacity) {
    ResidencyPolicy provider = POLICIES.stream().filter(any -> any.name().equals(policy)).findFirst().orElseThrow();
    return TraceReplay.hits(trace, provider.open(new PolicyOptions(capacity, 1, Map.of())), capacity);
  }

  @Test
  void conversation_hitsWithoutEviction() {
    Trace trace = traces.getFirst();
    assertThat(trace.blocks()).isEqualTo(288_500);
    assertThat(TraceReplay.hitsWithoutEviction(trace)).isEqualTo(105_710);
    assertThat(replay(trace, DEFAULT, 200_000)).isEqualTo(105_710);
  }

  @Test
  void conversation_lruAndBoundAreTheKnownFigures() {
    double[] lru = {4.5, 8.7, 21.2, 28.8};
    double[] bound = {19.1, 32.2, 36.6, 36.6};
    for (int i = 0; i < CAPACITIES.length; i++) {
      assertThat(percent("conversation", LRU, i)).isCloseTo(lru[i], within(0.06));
      assertThat(percent("conversation", BOUND, i)).isCloseTo(bound[i], within(0.06));
    }
  }

  @Test
  void lru_isTheSameWrittenAnotherWay() {
    for (String trace : List.of("conversation", "multi-turn", "shared-prefix", "long-doc")) {
      assertThat(hits.get(trace).get(LRU)).as(trace).isEqualTo(hits.get(trace).get(NAIVE));
    }
  }

  @Test
  void defaultPolicy_isNeverBelowLruOnRecordedTraces() {
    for (String trace : List.of("conversation", "synthetic")) {
      for (int i = 0; i < CAPACITIES.length; i++) {
        assertThat(hits.get(trace).get(DEFAULT)[i]).as("%s, %d blocks", trace, CAPACITIES[i])
            .isGreaterThanOrEqualTo(hits.get(trace).get(LRU)[i]);
      }
    }
  }

  /** Returns are memoryless there, so nothing can be learnt, and what learning costs shows. */
  @Test
  void defaultPolicy_losesLittleWhereNothingCanBeLearnt() {
    for (int i = 0; i < CAPACITIES.length; i++) {
      assertThat(percent("multi-turn", DEFAULT, i)).isGreaterThan(percent("multi-turn", LRU, i) - 1);
    }
  }

  @Test
  void defaultPolicy_keepsSharedPrefixesAndShrugsOffLongDocuments() {
    for (int i = 0; i < CAPACITIES.length; i++) {
      assertThat(percent("shared-prefix", DEFAULT, i)).isGreaterThanOrEqualTo(percent("shared-prefix", LRU, i));
      assertThat(percent("long-doc", DEFAULT, i)).isGreaterThan(percent("long-doc", LRU, i));
    }
  }

  @Test
  void defaultPolicy_canBeRepeated() {
    assertThat(replay(traces.getFirst(), DEFAULT, 4_000)).isEqualTo(hits.get("conversation").get(DEFAULT)[1]);
  }

  @Test
  void documentedTable_isWhatIsMeasured() throws IOException {
    Path document = Path.of("../docs/policies.md");
    String text = Files.readString(document);
    String begin = "<!-- table: begin -->\n";
    String end = "<!-- table: end -->";
    String written =
        text.substring(0, text.indexOf(begin) + begin.length()) + table() + text.substring(text.indexOf(end));
    if (Boolean.getBoolean("orbitkv.write-docs")) {
      Files.writeString(document, written);
    }
    assertThat(Files.readString(document)).isEqualTo(written);
  }

  private String table() {
    StringBuilder table = new StringBuilder();
    for (Trace trace : traces) {
      table.append(String.format(Locale.ROOT, "%n**%s**: %,d requests, %,d blocks queried, "
              + "%.1f %% hit by memory without end.%n%n| policy |",
          trace.name(), trace.requests().size(), trace.blocks(),
          100.0 * TraceReplay.hitsWithoutEviction(trace) / trace.blocks()));
      for (int capacity : CAPACITIES) {
        table.append(String.format(Locale.ROOT, " %,d blocks |", capacity));
      }
      table.append("\n|---|").append("---:|".repeat(CAPACITIES.length)).append('\n');
      for (String policy : List.of(LRU, "tinylfu", DEFAULT, BOUND)) {
        table.append("| ").append(policy.equals(BOUND) ? policy : "`" + policy + "`").append(" |");
        for (int i = 0; i < CAPACITIES.length; i++) {
          table.append(String.format(Locale.ROOT, " %.1f |", percent(trace.name(), policy, i)));
        }
        table.append('\n');
      }
    }
    return table.append('\n').toString();
  }

  private double percent(String trace, String policy, int capacity) {
    long blocks = traces.stream().filter(any -> any.name().equals(trace)).findFirst().orElseThrow().blocks();
    return 100.0 * hits.get(trace).get(policy)[capacity] / blocks;
  }
}
