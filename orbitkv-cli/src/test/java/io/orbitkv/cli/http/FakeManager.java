package io.orbitkv.cli.http;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.manager.ManagerStatus;
import io.orbitkv.core.manager.ManagerStatus.InstanceStatus;
import io.orbitkv.core.manager.ManagerStatus.Quarantine;
import io.orbitkv.core.manager.Operated;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A Manager that is told what it is, and remembers what it was asked for. */
public final class FakeManager implements Operated {

  private static final Namespace NAMESPACE = new Namespace(new Digest(1, 2, 3, 4));

  /** A Manager of which nothing is wrong. */
  public static final ManagerStatus HEALTHY = new ManagerStatus(
      -2,
      "orbitkv 1.2.3",
      1_000_000,
      true,
      List.of(),
      false,
      stats(1_000, 600, 150,
          Map.of(MissReason.NOT_STORED, 200L, MissReason.NO_MEMORY, 40L, MissReason.FAILED_READ, 10L), "healthy"),
      List.of(
          new InstanceStatus("engine-a", NAMESPACE, 7, 2, 2, "open", 3, 4, 1, 2, 5 << 20),
          new InstanceStatus("engine-b", NAMESPACE, 9, 4, 1, "registering", 0, 0, 0, 0, 0),
          new InstanceStatus("engine-a", NAMESPACE, 6, 2, 2, "lost", 0, 1, 0, 0, 1 << 20)),
      List.of(new Quarantine("engine-a", 1, 4711, 3 << 20, 2_000_000, "process 4711 to be gone")),
      4_200,
      123_456);

  private final List<String> asked = new ArrayList<>();
  private ManagerStatus status = HEALTHY;
  private boolean broken;

  /** Counters of which tokens are 16 times the blocks. */
  public static CacheStats stats(
      long queried, long hitDram, long hitSsd, Map<MissReason, Long> missed, String ssdHealth) {
    return new CacheStats(
        17, queried, hitDram, hitSsd, queried - hitDram - hitSsd, missed, 900,
        16 * queried, 16 * hitDram, 16 * hitSsd, 3L << 30, 2L << 30,
        400, 800, 512L << 20, 1L << 30, 3L << 30, 12L << 30, 6 << 20, 3 << 20,
        Map.of("ssd_read_corrupt", 2L, "session_lost", 1L), ssdHealth);
  }

  /** Becomes one that does not serve, with a reason. */
  public void becomeNotReady(String reason) {
    become(new ManagerStatus(HEALTHY.incarnation(), HEALTHY.software(), HEALTHY.startedAtEpochMillis(), false,
        List.of(reason), false, HEALTHY.cache(), HEALTHY.instances(), HEALTHY.quarantine(),
        HEALTHY.coreEventP99Nanos(), HEALTHY.coreEvents()));
  }

  synchronized void become(ManagerStatus next) {
    status = next;
  }

  /** Lets every status fail as no caller expects. */
  synchronized void breakDown() {
    broken = true;
  }

  synchronized List<String> asked() {
    return List.copyOf(asked);
  }

  @Override
  public synchronized ManagerStatus status() {
    if (broken) {
      throw new IllegalStateException("broken");
    }
    return status;
  }

  @Override
  public synchronized void drain() {
    asked.add("drain");
  }

  @Override
  public synchronized boolean flush(Duration limit) {
    asked.add("flush " + limit);
    return true;
  }

  @Override
  public synchronized long evict(ByteSize bytes) {
    asked.add("evict " + bytes);
    return 4096;
  }

  @Override
  public synchronized long drop(Namespace namespace) {
    asked.add("drop " + namespace);
    if (namespace.digest().w0() == -1) {
      throw new UnavailableException("the cache is closed");
    }
    return 12;
  }
}
