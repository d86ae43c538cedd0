package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.MissReason;
import io.orbitkv.cli.replay.ReplayPlan;
import io.orbitkv.cli.replay.ReplayReport;
import io.orbitkv.cli.terminal.Table;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A replay's figures as a person and as a program reads them.
 *
 * @param cache whose figures they are
 * @param report what was counted
 */
record ReplaySummary(CacheUnderReplay cache, ReplayReport report) {

  void print(PrintWriter out) {
    ReplayPlan plan = report.plan();
    Table table = new Table("ll")
        .line("workload", plan.workload().name())
        .line("cache", cache.describe())
        .line("engine", format("ranks %d, layers %d, blocks of %s", plan.ranks(), plan.layers(),
            new ByteSize(plan.blockBytes())))
        .line("requests", count(report.requests()))
        .line("blocks queried", count(report.blocksQueried()))
        .line("hit in DRAM", share(report.blocksHitDram()))
        .line("hit on SSD", share(report.blocksHitSsd()))
        .line("hit rate", format("%.4f", report.hitRate()))
        .line("missed", missed())
        .line("blocks saved", count(report.blocksSaved()))
        .line("bytes verified", format("%,d (%s)", report.bytesVerified(), new ByteSize(report.bytesVerified())))
        .line("hits lost", lost())
        .line("mismatches", count(report.mismatches()))
        .line("save", format("%.2f GB/s", report.saveGigabytesPerSecond()))
        .line("restore", format("%.2f GB/s", report.restoreGigabytesPerSecond()))
        .line("lookup", format("p50 %.1f us, p99 %.1f us", report.lookupMicrosP50(), report.lookupMicrosP99()));
    if (report.blocksHitSsd() > 0) {
      table.line("wait for SSD", format("p50 %.2f ms, p99 %.2f ms", report.ssdWaitMillisP50(),
          report.ssdWaitMillisP99()));
    }
    table
        .line("restarts", count(report.restarts()))
        .line("recovered extents", count(report.recoveredExtents()) + dropped())
        .line("faults", report.faults().isEmpty() ? "none" : report.faults())
        .line("took", format("%.1f s", report.seconds()));
    table.print(out);
    if (report.restarts() > 0) {
      out.println();
      printPhases(out);
    }
  }

  ObjectNode json() {
    ReplayPlan plan = report.plan();
    ObjectNode node = new JsonMapper().createObjectNode()
        .put("workload", plan.workload().name())
        .put("requests", report.requests())
        .put("blocks_queried", report.blocksQueried())
        .put("blocks_hit_dram", report.blocksHitDram())
        .put("blocks_hit_ssd", report.blocksHitSsd())
        .put("hit_rate", report.hitRate())
        .put("blocks_saved", report.blocksSaved())
        .put("bytes_verified", report.bytesVerified())
        .put("hits_lost", report.hitsLost())
        .put("blocks_lost", report.blocksLost())
        .put("mismatches", report.mismatches())
        .put("bytes_saved", report.bytesSaved())
        .put("save_gb_s", report.saveGigabytesPerSecond())
        .put("restore_gb_s", report.restoreGigabytesPerSecond())
        .put("lookup_us_p50", report.lookupMicrosP50())
        .put("lookup_us_p99", report.lookupMicrosP99())
        .put("ssd_wait_ms_p50", report.ssdWaitMillisP50())
        .put("ssd_wait_ms_p99", report.ssdWaitMillisP99())
        .put("restarts", report.restarts())
        .put("recovered_extents", report.recoveredExtents())
        .put("seconds", report.seconds());
    ObjectNode missed = node.putObject("blocks_missed");
    report.missed().forEach((reason, blocks) -> missed.put(name(reason), blocks));
    counts(node.putObject("recovery_dropped"), report.recoveryDropped());
    counts(node.putObject("faults"), report.faults());
    ArrayNode phases = node.putArray("phases");
    for (ReplayReport.Phase phase : report.phases()) {
      phases.addObject()
          .put("requests", phase.requests())
          .put("blocks_queried", phase.blocksQueried())
          .put("blocks_hit_dram", phase.blocksHitDram())
          .put("blocks_hit_ssd", phase.blocksHitSsd())
          .put("hit_rate", phase.hitRate())
          .put("recovered_extents", phase.recoveredExtents());
    }
    ObjectNode settings = node.putObject("settings");
    cache.describe(settings);
    settings
        .put("block_bytes", plan.blockBytes())
        .put("world_size", plan.ranks())
        .put("layers", plan.layers());
    return node;
  }

  private void printPhases(PrintWriter out) {
    Table table = new Table("lrrrrrr")
        .line("", "requests", "queried", "hit DRAM", "hit SSD", "hit rate", "recovered");
    int index = 0;
    for (ReplayReport.Phase phase : report.phases()) {
      table.line(index == 0 ? "at first" : "after restart " + index, count(phase.requests()),
          count(phase.blocksQueried()), count(phase.blocksHitDram()), count(phase.blocksHitSsd()),
          format("%.4f", phase.hitRate()), count(phase.recoveredExtents()));
      index++;
    }
    table.print(out);
  }

  private String share(long blocks) {
    double percent = report.blocksQueried() == 0 ? 0 : 100.0 * blocks / report.blocksQueried();
    return format("%,d (%.2f %%)", blocks, percent);
  }

  private String missed() {
    return report.missed().entrySet().stream()
        .filter(entry -> entry.getValue() > 0)
        .map(entry -> format("%,d %s", entry.getValue(), name(entry.getKey()).replace('_', ' ')))
        .collect(Collectors.collectingAndThen(Collectors.joining(", "), text -> text.isEmpty() ? "none" : text));
  }

  private String lost() {
    return report.hitsLost() == 0 ? "none" : format("%,d of %,d blocks", report.hitsLost(), report.blocksLost());
  }

  private static String name(MissReason reason) {
    return reason.name().toLowerCase(Locale.ROOT);
  }

  private String dropped() {
    return report.recoveryDropped().isEmpty() ? "" : ", dropped " + report.recoveryDropped();
  }

  private static void counts(ObjectNode node, Map<String, Long> counts) {
    counts.forEach(node::put);
  }

  private static String count(long number) {
    return format("%,d", number);
  }

  private static String format(String form, Object... values) {
    return String.format(Locale.ROOT, form, values);
  }
}
