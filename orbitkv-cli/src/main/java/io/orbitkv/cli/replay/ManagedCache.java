package io.orbitkv.cli.replay;

import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * A Manager's cache as a replay uses it: attached to as one member of an engine, with counters that begin when it was
 * opened. Other users of the Manager are counted too. A Manager that ends takes its counters with it, and those of the
 * next one are counted from its start.
 */
final class ManagedCache implements Cache {

  private final ManagerClient client;
  private final Membership membership;
  private final long manager;
  private final CacheStats before;

  ManagedCache(Path socket, Membership membership) {
    this.client = ManagerClient.open(socket);
    this.membership = membership;
    this.before = client.stats();
    this.manager = client.incarnation();
  }

  @Override
  public Session attach(SessionSpec spec) {
    return client.attach(spec, membership);
  }

  @Override
  public CacheStats stats() {
    try {
      CacheStats now = client.stats();
      return client.incarnation() == manager ? since(before, now) : now;
    } catch (UnavailableException e) {
      return new CacheStats(0, 0, 0, 0, 0, Map.of(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Map.of(), "unknown");
    }
  }

  private static CacheStats since(CacheStats before, CacheStats now) {
    return new CacheStats(now.queries() - before.queries(), now.blocksQueried() - before.blocksQueried(),
        now.blocksHitDram() - before.blocksHitDram(), now.blocksHitSsd() - before.blocksHitSsd(),
        now.blocksMissed() - before.blocksMissed(), since(before.missed(), now.missed()),
        now.blocksSaved() - before.blocksSaved(), now.tokensQueried() - before.tokensQueried(),
        now.tokensHitDram() - before.tokensHitDram(), now.tokensHitSsd() - before.tokensHitSsd(),
        now.bytesSaved() - before.bytesSaved(), now.bytesRestored() - before.bytesRestored(), now.blocksDram(),
        now.blocksSsd(), now.dramBytes(), now.dramCapacityBytes(), now.ssdBytes(), now.ssdCapacityBytes(),
        now.leasedBytes(), now.quarantinedBytes(), since(before.faults(), now.faults()), now.ssdHealth());
  }

  private static <K> Map<K, Long> since(Map<K, Long> before, Map<K, Long> now) {
    Map<K, Long> since = new HashMap<>();
    now.forEach((key, count) -> {
      long more = count - before.getOrDefault(key, 0L);
      if (more != 0) {
        since.put(key, more);
      }
    });
    return since;
  }

  @Override
  public boolean flush(Duration limit) throws InterruptedException {
    return client.flush(limit);
  }

  @Override
  public void close() {
    client.close();
  }
}
