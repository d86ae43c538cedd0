package io.orbitkv.core.wire;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.MissReason;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** The fields of {@link CacheStats} on the wire, in the record's order; maps in the order of their keys. */
final class CacheStatsCodec {

  private static final int FIELDS = 22;
  private static final MissReason[] REASONS = MissReason.values();

  private CacheStatsCodec() {}

  static void write(CacheStats stats, PackWriter out) {
    out.array(FIELDS);
    out.int64(stats.queries());
    out.int64(stats.blocksQueried());
    out.int64(stats.blocksHitDram());
    out.int64(stats.blocksHitSsd());
    out.int64(stats.blocksMissed());
    out.map(stats.missed().size());
    for (MissReason reason : REASONS) {
      Long blocks = stats.missed().get(reason);
      if (blocks != null) {
        out.constant(reason);
        out.int64(blocks);
      }
    }
    out.int64(stats.blocksSaved());
    out.int64(stats.tokensQueried());
    out.int64(stats.tokensHitDram());
    out.int64(stats.tokensHitSsd());
    out.int64(stats.bytesSaved());
    out.int64(stats.bytesRestored());
    out.int64(stats.blocksDram());
    out.int64(stats.blocksSsd());
    out.int64(stats.dramBytes());
    out.int64(stats.dramCapacityBytes());
    out.int64(stats.ssdBytes());
    out.int64(stats.ssdCapacityBytes());
    out.int64(stats.leasedBytes());
    out.int64(stats.quarantinedBytes());
    out.map(stats.faults().size());
    new TreeMap<>(stats.faults()).forEach((fault, count) -> {
      out.text(fault);
      out.int64(count);
    });
    out.text(stats.ssdHealth());
  }

  static CacheStats read(PackReader in) throws MalformedException {
    in.array("stats", FIELDS);
    return new CacheStats(
        in.int64("queries"), in.int64("blocksQueried"), in.int64("blocksHitDram"), in.int64("blocksHitSsd"),
        in.int64("blocksMissed"), missed(in), in.int64("blocksSaved"), in.int64("tokensQueried"),
        in.int64("tokensHitDram"), in.int64("tokensHitSsd"), in.int64("bytesSaved"), in.int64("bytesRestored"),
        in.int64("blocksDram"), in.int64("blocksSsd"), in.int64("dramBytes"), in.int64("dramCapacityBytes"),
        in.int64("ssdBytes"), in.int64("ssdCapacityBytes"), in.int64("leasedBytes"), in.int64("quarantinedBytes"),
        faults(in), in.text("ssdHealth"));
  }

  private static Map<MissReason, Long> missed(PackReader in) throws MalformedException {
    Map<MissReason, Long> missed = new EnumMap<>(MissReason.class);
    for (int left = in.map("missed"); left > 0; left--) {
      once(missed.put(in.constant("missed", REASONS), in.int64("missed")));
    }
    return missed;
  }

  private static Map<String, Long> faults(PackReader in) throws MalformedException {
    Map<String, Long> faults = new HashMap<>();
    for (int left = in.map("faults"); left > 0; left--) {
      once(faults.put(in.text("faults"), in.int64("faults")));
    }
    return faults;
  }

  private static void once(Long before) throws MalformedException {
    if (before != null) {
      throw new MalformedException("Statistics.stats: expected each key once, found one twice");
    }
  }
}
