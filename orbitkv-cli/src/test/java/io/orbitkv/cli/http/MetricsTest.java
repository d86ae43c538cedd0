package io.orbitkv.cli.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.MissReason;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MetricsTest {

  private final String text =
      new String(Metrics.of(FakeManager.HEALTHY).body(), StandardCharsets.UTF_8);
  private final Map<String, Double> samples = parse(text);

  @Test
  void hitsAndMisses_areWhatWasQueried() {
    for (String unit : new String[] {"blocks", "tokens"}) {
      assertThat(sum("orbitkv_" + unit + "_hit_total") + sum("orbitkv_" + unit + "_missed_total"))
          .as(unit).isEqualTo(sum("orbitkv_" + unit + "_queried_total")).isPositive();
    }
  }

  @Test
  void everyMissReason_isALabel() {
    for (MissReason reason : MissReason.values()) {
      assertThat(samples.containsKey("orbitkv_blocks_missed_total{reason=\"" + reason.name().toLowerCase() + "\"}"))
          .isEqualTo(reason != MissReason.NONE);
    }
  }

  @Test
  void samples_haveTheManagersValues() {
    assertThat(samples)
        .containsEntry("orbitkv_ready", 1.0)
        .containsEntry("orbitkv_draining", 0.0)
        .containsEntry("orbitkv_blocks_hit_total{tier=\"ssd\"}", 150.0)
        .containsEntry("orbitkv_tokens_hit_total{tier=\"dram\"}", 9_600.0)
        .containsEntry("orbitkv_saved_bytes_total", (double) (3L << 30))
        .containsEntry("orbitkv_restored_bytes_total", (double) (2L << 30))
        .containsEntry("orbitkv_tier_used_bytes{tier=\"dram\"}", (double) (512L << 20))
        .containsEntry("orbitkv_tier_capacity_bytes{tier=\"ssd\"}", (double) (12L << 30))
        .containsEntry("orbitkv_faults_total{fault=\"ssd_read_corrupt\"}", 2.0)
        .containsEntry("orbitkv_ssd_health{state=\"healthy\"}", 1.0)
        .containsEntry("orbitkv_ssd_health{state=\"read-only\"}", 0.0)
        .containsEntry("orbitkv_quarantined_bytes", (double) (3 << 20))
        .containsEntry("orbitkv_quarantined_members", 1.0)
        .containsEntry("orbitkv_core_event_p99_seconds", 4.2e-6);
  }

  @Test
  void registrationsOfOneInstance_areAddedUp() {
    assertThat(samples)
        .containsEntry("orbitkv_instance_leases{instance=\"engine-a\"}", 5.0)
        .containsEntry("orbitkv_instances{state=\"lost\"}", 1.0);
  }

  @Test
  void collections_areThere() {
    assertThat(sum("orbitkv_jvm_heap_used_bytes")).isPositive();
    assertThat(text).contains("orbitkv_jvm_gc_seconds_total{collector=");
  }

  @Test
  void everyMetric_isOurs_isDescribed_andHasAUnitOrCountsThings() {
    Set<String> described = new HashSet<>();
    Map<String, String> types = new HashMap<>();
    text.lines().map(line -> line.split(" ")).forEach(words -> {
      switch (words[0] + words[1]) {
        case "#HELP" -> described.add(words[2]);
        case "#TYPE" -> types.put(words[2], words[3]);
        default -> { }
      }
    });

    assertThat(types.keySet()).isEqualTo(described).allMatch(name -> name.startsWith("orbitkv_"));
    types.forEach((name, type) -> assertThat(name.endsWith("_total")).as(name).isEqualTo(type.equals("counter")));
  }

  private double sum(String name) {
    return samples.entrySet().stream()
        .filter(sample -> sample.getKey().equals(name) || sample.getKey().startsWith(name + "{"))
        .mapToDouble(Map.Entry::getValue)
        .sum();
  }

  private static Map<String, Double> parse(String text) {
    Map<String, Double> samples = new LinkedHashMap<>();
    text.lines().filter(line -> !line.startsWith("#")).forEach(line -> {
      int space = line.lastIndexOf(' ');
      assertThat(samples.put(line.substring(0, space), Double.valueOf(line.substring(space + 1)))).as(line).isNull();
    });
    return samples;
  }
}
