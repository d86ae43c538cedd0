package io.orbitkv.cli.http;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.MissReason;
import io.orbitkv.core.manager.ManagerStatus;
import java.util.Locale;
import java.util.TreeMap;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** A status as JSON. Names say their unit; an incarnation is text, since JavaScript's numbers end at 53 bits. */
final class StatusJson {

  private StatusJson() {}

  static ObjectNode of(ManagerStatus status, long nowEpochMillis) {
    ObjectNode node = new JsonMapper().createObjectNode()
        .put("software", status.software())
        .put("incarnation", Long.toHexString(status.incarnation()))
        .put("at_epoch_millis", nowEpochMillis)
        .put("started_at_epoch_millis", status.startedAtEpochMillis())
        .put("ready", status.ready())
        .put("draining", status.draining());
    ArrayNode degraded = node.putArray("degraded");
    status.degraded().forEach(degraded::add);
    put(node.putObject("cache"), status.cache());
    ArrayNode instances = node.putArray("instances");
    for (ManagerStatus.InstanceStatus instance : status.instances()) {
      instances.addObject()
          .put("name", instance.name())
          .put("namespace", instance.namespace().digest().toHex())
          .put("generation", instance.generation())
          .put("ranks", instance.ranks())
          .put("ranks_in", instance.ranksIn())
          .put("state", instance.state())
          .put("tickets", instance.tickets())
          .put("leases", instance.leases())
          .put("saves", instance.saves())
          .put("restores", instance.restores())
          .put("leased_bytes", instance.leasedBytes());
    }
    ArrayNode quarantine = node.putArray("quarantine");
    for (ManagerStatus.Quarantine left : status.quarantine()) {
      quarantine.addObject()
          .put("instance", left.instance())
          .put("rank", left.rank())
          .put("pid", left.pid())
          .put("bytes", left.bytes())
          .put("since_epoch_millis", left.sinceEpochMillis())
          .put("waiting_for", left.waitingFor());
    }
    node.putObject("core").put("events", status.coreEvents()).put("event_p99_nanos", status.coreEventP99Nanos());
    return node;
  }

  private static void put(ObjectNode node, CacheStats stats) {
    node.put("queries", stats.queries());
    node.putObject("blocks")
        .put("queried", stats.blocksQueried())
        .put("hit_dram", stats.blocksHitDram())
        .put("hit_ssd", stats.blocksHitSsd())
        .put("missed", stats.blocksMissed())
        .put("saved", stats.blocksSaved());
    ObjectNode missed = node.putObject("blocks_missed_by_reason");
    for (MissReason reason : MissReason.values()) {
      if (reason != MissReason.NONE) {
        missed.put(reason.name().toLowerCase(Locale.ROOT), stats.missed().getOrDefault(reason, 0L));
      }
    }
    node.putObject("tokens")
        .put("queried", stats.tokensQueried())
        .put("hit_dram", stats.tokensHitDram())
        .put("hit_ssd", stats.tokensHitSsd())
        .put("missed", stats.tokensQueried() - stats.tokensHitDram() - stats.tokensHitSsd());
    node.put("bytes_saved", stats.bytesSaved()).put("bytes_restored", stats.bytesRestored());
    node.putObject("dram")
        .put("blocks", stats.blocksDram())
        .put("used_bytes", stats.dramBytes())
        .put("capacity_bytes", stats.dramCapacityBytes());
    node.putObject("ssd")
        .put("blocks", stats.blocksSsd())
        .put("used_bytes", stats.ssdBytes())
        .put("capacity_bytes", stats.ssdCapacityBytes())
        .put("health", stats.ssdHealth());
    node.put("leased_bytes", stats.leasedBytes()).put("quarantined_bytes", stats.quarantinedBytes());
    ObjectNode faults = node.putObject("faults");
    new TreeMap<>(stats.faults()).forEach(faults::put);
  }
}
