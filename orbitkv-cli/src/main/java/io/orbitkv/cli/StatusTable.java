package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.cli.terminal.Table;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/** A Manager's status for a person at a terminal. */
final class StatusTable {

  private final JsonNode status;

  /**
   * @param status the content of {@code /status.json}
   */
  StatusTable(JsonNode status) {
    this.status = status;
  }

  void print(PrintWriter out) {
    JsonNode cache = status.path("cache");
    out.printf(Locale.ROOT, "%s: %s, up %s, incarnation %s%n", status.path("software").asString(), state(),
        duration(status.path("at_epoch_millis").asLong() - status.path("started_at_epoch_millis").asLong()),
        status.path("incarnation").asString());
    status.path("degraded").forEach(reason -> out.println("degraded: " + reason.asString()));
    out.println();
    facts(cache).print(out);
    out.println();
    tiers(cache).print(out);
    if (!status.path("instances").isEmpty()) {
      out.println();
      instances().print(out);
    }
    if (!status.path("quarantine").isEmpty()) {
      out.println();
      quarantine().print(out);
    }
  }

  private String state() {
    if (status.path("draining").asBoolean()) {
      return "draining";
    }
    if (!status.path("ready").asBoolean()) {
      return "not ready";
    }
    return status.path("degraded").isEmpty() ? "ready" : "ready, degraded";
  }

  private Table facts(JsonNode cache) {
    JsonNode blocks = cache.path("blocks");
    long queried = blocks.path("queried").asLong();
    long dram = blocks.path("hit_dram").asLong();
    long ssd = blocks.path("hit_ssd").asLong();
    return new Table("ll")
        .line("blocks", String.format(Locale.ROOT, "%,d queried = %,d hit in DRAM + %,d hit on SSD + %,d missed%s",
            queried, dram, ssd, blocks.path("missed").asLong(),
            queried == 0 ? "" : String.format(Locale.ROOT, " (%.1f %% hit)", 100.0 * (dram + ssd) / queried)))
        .line("missed", counts(cache.path("blocks_missed_by_reason")))
        .line("tokens", String.format(Locale.ROOT, "%,d queried, %,d hit", cache.at("/tokens/queried").asLong(),
            cache.at("/tokens/hit_dram").asLong() + cache.at("/tokens/hit_ssd").asLong()))
        .line("moved", size(cache.path("bytes_saved")) + " saved, " + size(cache.path("bytes_restored")) + " restored")
        .line("held", size(cache.path("leased_bytes")) + " leased, " + size(cache.path("quarantined_bytes"))
            + " in quarantine")
        .line("faults", counts(cache.path("faults")))
        .line("core", String.format(Locale.ROOT, "%,d events, p99 %.1f us", status.at("/core/events").asLong(),
            status.at("/core/event_p99_nanos").asLong() / 1e3));
  }

  private static Table tiers(JsonNode cache) {
    Table table = new Table("lrrrrl").line("tier", "used", "of", "fill", "blocks", "health");
    for (String name : new String[] {"dram", "ssd"}) {
      JsonNode tier = cache.path(name);
      long capacity = tier.path("capacity_bytes").asLong();
      if (capacity > 0) {
        table.line(name, size(tier.path("used_bytes")), size(tier.path("capacity_bytes")),
            String.format(Locale.ROOT, "%.1f %%", 100.0 * tier.path("used_bytes").asLong() / capacity),
            String.format(Locale.ROOT, "%,d", tier.path("blocks").asLong()), tier.path("health").asString(""));
      }
    }
    return table;
  }

  private Table instances() {
    Table table = new Table("llrrrrrrr")
        .line("instance", "state", "ranks", "generation", "queries", "leases", "saves", "restores", "leased");
    for (JsonNode instance : status.path("instances")) {
      table.line(instance.path("name").asString(), instance.path("state").asString(),
          instance.path("ranks_in").asInt() + " of " + instance.path("ranks").asInt(),
          instance.path("generation").asLong(), instance.path("tickets").asInt(), instance.path("leases").asInt(),
          instance.path("saves").asInt(), instance.path("restores").asInt(), size(instance.path("leased_bytes")));
    }
    return table;
  }

  private Table quarantine() {
    Table table = new Table("lrrrll").line("quarantine of", "rank", "process", "bytes", "since", "waits for");
    for (JsonNode left : status.path("quarantine")) {
      table.line(left.path("instance").asString(), left.path("rank").asInt(), left.path("pid").asLong(),
          size(left.path("bytes")), Instant.ofEpochMilli(left.path("since_epoch_millis").asLong()),
          left.path("waiting_for").asString());
    }
    return table;
  }

  private static String counts(JsonNode counters) {
    String text = counters.properties().stream()
        .filter(counter -> counter.getValue().asLong() > 0)
        .map(counter -> String.format(Locale.ROOT, "%s %,d", counter.getKey(), counter.getValue().asLong()))
        .collect(Collectors.joining(", "));
    return text.isEmpty() ? "none" : text;
  }

  private static ByteSize size(JsonNode bytes) {
    return new ByteSize(bytes.asLong());
  }

  private static String duration(long millis) {
    Duration up = Duration.ofMillis(Math.max(0, millis));
    return up.toDays() > 0
        ? String.format(Locale.ROOT, "%d d %d h", up.toDays(), up.toHoursPart())
        : String.format(Locale.ROOT, "%d:%02d:%02d", up.toHours(), up.toMinutesPart(), up.toSecondsPart());
  }
}
