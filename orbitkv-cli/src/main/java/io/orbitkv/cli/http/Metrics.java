package io.orbitkv.cli.http;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.MissReason;
import io.orbitkv.core.manager.ManagerStatus;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * A status as Prometheus metrics. All are made from one status, so that counters which add up in it add up in each
 * scrape: {@code hit + missed = queried}, in blocks and in tokens.
 */
final class Metrics {

  /** States of the SSD, each a line, so that a query needs no number's meaning. */
  private static final List<String> SSD_STATES = List.of("none", "healthy", "read-only", "off");

  private static final String TIER = "tier";
  private static final String DRAM = "dram";
  private static final String SSD = "ssd";

  private final List<MetricSnapshot> snapshots = new ArrayList<>();

  private Metrics() {}

  static Response of(ManagerStatus status) {
    Metrics metrics = new Metrics();
    metrics.manager(status);
    metrics.lookups(status.cache());
    metrics.tiers(status.cache());
    metrics.instances(status);
    metrics.virtualMachine();
    return metrics.response();
  }

  private Response response() {
    PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    try {
      writer.write(text, new MetricSnapshots(snapshots), EscapingScheme.UNDERSCORE_ESCAPING);
    } catch (IOException e) {
      throw new UncheckedIOException("memory does not refuse writes", e);
    }
    return new Response(200, writer.getContentType(), text.toByteArray(), Map.of());
  }

  private void manager(ManagerStatus status) {
    gauge("orbitkv_build", "Always 1; the labels say what runs.",
        of(Labels.of("software", status.software(), "incarnation", Long.toHexString(status.incarnation())), 1));
    gauge("orbitkv_start_time_seconds", "When the Manager was started, in seconds since 1970.",
        of(Labels.EMPTY, status.startedAtEpochMillis() / 1e3));
    gauge("orbitkv_ready", "1 if work can be sent.", of(Labels.EMPTY, status.ready() ? 1 : 0));
    gauge("orbitkv_draining", "1 if nothing new is admitted.", of(Labels.EMPTY, status.draining() ? 1 : 0));
    gauge("orbitkv_degraded_reasons", "How many things are worse than set up; /health names them.",
        of(Labels.EMPTY, status.degraded().size()));
    counter("orbitkv_core_events", "Events that the core ran.", of(Labels.EMPTY, status.coreEvents()));
    gauge("orbitkv_core_event_p99_seconds", "99th percentile of the time of one event, since the start.",
        of(Labels.EMPTY, status.coreEventP99Nanos() / 1e9));
  }

  private void lookups(CacheStats stats) {
    counter("orbitkv_queries", "Queries that ended in a hit or a miss.", of(Labels.EMPTY, stats.queries()));
    counter("orbitkv_blocks_queried", "Blocks of those queries.", of(Labels.EMPTY, stats.blocksQueried()));
    counter("orbitkv_blocks_hit", "Blocks served, by where they were.",
        of(Labels.of(TIER, DRAM), stats.blocksHitDram()), of(Labels.of(TIER, SSD), stats.blocksHitSsd()));
    List<Sample> missed = new ArrayList<>();
    for (MissReason reason : MissReason.values()) {
      if (reason != MissReason.NONE) {
        missed.add(of(Labels.of("reason", reason.name().toLowerCase(Locale.ROOT)),
            stats.missed().getOrDefault(reason, 0L)));
      }
    }
    counter("orbitkv_blocks_missed", "Blocks not served, by why the hit ended.", missed.toArray(Sample[]::new));
    counter("orbitkv_tokens_queried", "Tokens of the blocks queried, where a session states tokens a block.",
        of(Labels.EMPTY, stats.tokensQueried()));
    counter("orbitkv_tokens_hit", "Tokens served, by where they were.",
        of(Labels.of(TIER, DRAM), stats.tokensHitDram()), of(Labels.of(TIER, SSD), stats.tokensHitSsd()));
    counter("orbitkv_tokens_missed", "Tokens not served.",
        of(Labels.EMPTY, stats.tokensQueried() - stats.tokensHitDram() - stats.tokensHitSsd()));
    counter("orbitkv_blocks_saved", "Blocks of which every rank committed its shard.",
        of(Labels.EMPTY, stats.blocksSaved()));
    counter("orbitkv_saved_bytes", "Bytes of shards that ranks committed.", of(Labels.EMPTY, stats.bytesSaved()));
    counter("orbitkv_restored_bytes", "Bytes of shards that ranks copied out.",
        of(Labels.EMPTY, stats.bytesRestored()));
    counter("orbitkv_faults", "What an operator should know of, by name.", stats.faults().entrySet().stream()
        .map(fault -> of(Labels.of("fault", fault.getKey()), fault.getValue()))
        .toArray(Sample[]::new));
  }

  private void tiers(CacheStats stats) {
    gauge("orbitkv_tier_blocks", "Blocks held now.",
        of(Labels.of(TIER, DRAM), stats.blocksDram()), of(Labels.of(TIER, SSD), stats.blocksSsd()));
    gauge("orbitkv_tier_used_bytes", "Bytes of the tier in use now.",
        of(Labels.of(TIER, DRAM), stats.dramBytes()), of(Labels.of(TIER, SSD), stats.ssdBytes()));
    gauge("orbitkv_tier_capacity_bytes", "Bytes of the tier.",
        of(Labels.of(TIER, DRAM), stats.dramCapacityBytes()), of(Labels.of(TIER, SSD), stats.ssdCapacityBytes()));
    gauge("orbitkv_leased_bytes", "Bytes charged to leases and pending reads now.",
        of(Labels.EMPTY, stats.leasedBytes()));
    gauge("orbitkv_quarantined_bytes", "Bytes of memory that nothing proves unused.",
        of(Labels.EMPTY, stats.quarantinedBytes()));
    gauge("orbitkv_ssd_health", "1 in the state that the SSD is in.", SSD_STATES.stream()
        .map(state -> of(Labels.of("state", state), state.equals(stats.ssdHealth()) ? 1 : 0))
        .toArray(Sample[]::new));
  }

  private void instances(ManagerStatus status) {
    gauge("orbitkv_instances", "Registrations of engine instances, by state.", status.instances().stream()
        .collect(Collectors.groupingBy(ManagerStatus.InstanceStatus::state, TreeMap::new, Collectors.counting()))
        .entrySet().stream()
        .map(state -> of(Labels.of("state", state.getKey()), state.getValue()))
        .toArray(Sample[]::new));
    perInstance(status, "orbitkv_instance_ranks", "Ranks registered.", ManagerStatus.InstanceStatus::ranksIn);
    perInstance(status, "orbitkv_instance_tickets", "Queries under way.", ManagerStatus.InstanceStatus::tickets);
    perInstance(status, "orbitkv_instance_leases", "Leases not retired.", ManagerStatus.InstanceStatus::leases);
    perInstance(status, "orbitkv_instance_saves", "Saves not ended.", ManagerStatus.InstanceStatus::saves);
    perInstance(status, "orbitkv_instance_restores", "Restores not ended.", ManagerStatus.InstanceStatus::restores);
    perInstance(status, "orbitkv_instance_leased_bytes", "Bytes charged to leases and pending reads.",
        ManagerStatus.InstanceStatus::leasedBytes);
    gauge("orbitkv_quarantined_members", "Lost members whose grants nothing proves unused.",
        of(Labels.EMPTY, status.quarantine().size()));
  }

  /** Adds up the registrations of one name: an older one may still wait for its last grant. */
  private void perInstance(
      ManagerStatus status, String name, String help, ToLongFunction<ManagerStatus.InstanceStatus> value) {
    gauge(name, help, status.instances().stream()
        .collect(Collectors.groupingBy(
            ManagerStatus.InstanceStatus::name, TreeMap::new, Collectors.summingLong(value)))
        .entrySet().stream()
        .map(instance -> of(Labels.of("instance", instance.getKey()), instance.getValue()))
        .toArray(Sample[]::new));
  }

  private void virtualMachine() {
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    gauge("orbitkv_jvm_heap_used_bytes", "Heap in use; blocks are not on the heap.", of(Labels.EMPTY, heap.getUsed()));
    gauge("orbitkv_jvm_heap_max_bytes", "Most heap that may be taken.", of(Labels.EMPTY, heap.getMax()));
    List<Sample> counts = new ArrayList<>();
    List<Sample> seconds = new ArrayList<>();
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      Labels labels = Labels.of("collector", collector.getName());
      counts.add(of(labels, Math.max(0, collector.getCollectionCount())));
      seconds.add(of(labels, Math.max(0, collector.getCollectionTime()) / 1e3));
    }
    counter("orbitkv_jvm_gc", "Collections; those of ZGC named Pauses are the pauses.", counts.toArray(Sample[]::new));
    counter("orbitkv_jvm_gc_seconds", "Time of those collections.", seconds.toArray(Sample[]::new));
  }

  private record Sample(Labels labels, double value) {}

  private static Sample of(Labels labels, double value) {
    return new Sample(labels, value);
  }

  /** The writer ends the name of a counter in {@code _total}. */
  private void counter(String name, String help, Sample... samples) {
    CounterSnapshot.Builder counter = CounterSnapshot.builder().name(name).help(help);
    for (Sample sample : samples) {
      counter.dataPoint(CounterDataPointSnapshot.builder().labels(sample.labels).value(sample.value).build());
    }
    snapshots.add(counter.build());
  }

  private void gauge(String name, String help, Sample... samples) {
    GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(name).help(help);
    for (Sample sample : samples) {
      gauge.dataPoint(GaugeDataPointSnapshot.builder().labels(sample.labels).value(sample.value).build());
    }
    snapshots.add(gauge.build());
  }
}
