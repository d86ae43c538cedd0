package io.orbitkv.cli.bench;

import io.orbitkv.api.Answer;
import io.orbitkv.api.ByteSize;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.chaos.ManagerProcess;
import io.orbitkv.cli.process.ChildCommand;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.core.client.ManagerClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * Times one engine's lookups at a Manager while another engine floods it, beside the same lookups alone, and beside the
 * same flood at another Manager of the same host: so what the flood takes of the processors is told apart from what it
 * takes of the Manager.
 */
public final class FairnessBench {

  private static final Duration END_LIMIT = Duration.ofSeconds(30);
  private static final List<String> FLOOD_HEAP = List.of("-XX:+UseSerialGC", "-Xmx256m");
  private static final int VICTIM_CHAINS = 8;

  /** An engine asks when it has a prompt, not all the time. */
  private static final long PAUSE_NANOS = Duration.ofMillis(1).toNanos();

  private final Settings settings;

  /** What goes on beside the lookups. */
  public enum Beside {
    /** Nothing. */
    NOTHING,
    /** A flood of another Manager. */
    FLOOD_ELSEWHERE,
    /** A flood of the same Manager. */
    FLOOD
  }

  /**
   * What is measured.
   *
   * @param chainBlocks blocks of a prompt, of the victim and of the flood
   * @param ranks ranks of the flooding engine, each with a connection, beside that of its scheduler
   * @param rounds rounds of all three; the first warms up and is not counted
   * @param part how long each is measured in a round
   * @param dram each Manager's memory
   * @param ssdBytes each Manager's store
   */
  public record Settings(int chainBlocks, int ranks, int rounds, Duration part, ByteSize dram, ByteSize ssdBytes) {}

  /**
   * What was measured.
   *
   * @param times of a query and its first answer, in nanoseconds
   * @param hits lookups whose every block was in memory, of each hundred under the flood
   * @param flooded what the flooded Manager did in the counted rounds: queries, blocks read from the SSD, blocks saved
   */
  public record Result(Map<Beside, Histogram> times, double hits, Flooded flooded) {

    /** Returns a percentile. */
    public long nanos(Beside beside, double percentile) {
      return times.get(beside).getValueAtPercentile(percentile);
    }

    /** Returns a percentile under the flood over that beside something else. */
    public double ratio(Beside other, double percentile) {
      return nanos(Beside.FLOOD, percentile) / (double) nanos(other, percentile);
    }
  }

  /**
   * What a Manager did for everybody while it was flooded.
   *
   * @param queries finally answered, a second
   * @param blocksFromSsd hit on the SSD, a second
   * @param blocksSaved made visible, a second
   */
  public record Flooded(double queries, double blocksFromSsd, double blocksSaved) {}

  /** Makes a run. */
  public FairnessBench(Settings settings) {
    this.settings = settings;
  }

  /**
   * Measures.
   *
   * @param runtime an empty private folder on tmpfs for the Manager that is asked
   * @param elsewhere another, for the other Manager
   * @param stores a folder for their stores
   * @param progress told of parts
   * @throws InterruptedException if the thread was interrupted
   */
  public Result run(Path runtime, Path elsewhere, Path stores, Progress progress) throws InterruptedException {
    try (ManagerProcess asked = manager(runtime, stores.resolve("asked"));
        ManagerProcess other = manager(elsewhere, stores.resolve("other"))) {
      Result result = measure(runtime, elsewhere, progress);
      asked.end(END_LIMIT);
      other.end(END_LIMIT);
      return result;
    }
  }

  private Result measure(Path runtime, Path elsewhere, Progress progress) throws InterruptedException {
    try (ManagerClient client = ManagerClient.open(socket(runtime));
        Session session = client.attach(new SessionSpec("victim",
            Namespace.builder("orbitkv-bench", "1", Digest.ZERO).build(), ShardLayout.single(MemoryPool.ALIGNMENT), 16))) {
      LookupBench.Settings blocks = new LookupBench.Settings(
          settings.chainBlocks() * VICTIM_CHAINS, settings.chainBlocks(), 1, 1);
      for (int i = 0; i < VICTIM_CHAINS; i++) {
        Flood.saveZeroes(session, 0, blocks.chain(i));
      }
      Run run = new Run(session, blocks);
      int part = 0;
      for (int round = 0; round < settings.rounds(); round++) {
        for (Beside beside : Beside.values()) {
          run.measure(beside, beside == Beside.FLOOD_ELSEWHERE ? elsewhere : runtime, round > 0, client);
          progress.advanceTo(++part);
        }
      }
      return run.result();
    }
  }

  private ManagerProcess manager(Path runtime, Path store) throws InterruptedException {
    return new ManagerProcess(runtime, settings.dram(), store, settings.ssdBytes(), List.of("--block-bytes", "4KiB"));
  }

  private static Path socket(Path runtime) {
    return runtime.resolve("manager.sock");
  }

  /** The course of one run. */
  private final class Run {

    private final Session session;
    private final LookupBench.Settings blocks;
    private final Map<Beside, Histogram> times = new EnumMap<>(Beside.class);
    private long underFlood;
    private long hits;
    private long queries;
    private long fromSsd;
    private long saved;
    private double seconds;

    Run(Session session, LookupBench.Settings blocks) {
      this.session = session;
      this.blocks = blocks;
      for (Beside beside : Beside.values()) {
        times.put(beside, new Histogram(3));
      }
    }

    void measure(Beside beside, Path flooded, boolean counted, ManagerClient client) throws InterruptedException {
      if (beside == Beside.NOTHING) {
        lookUp(beside, counted);
        return;
      }
      try (ChildCommand flood = ChildCommand.start("flood", FLOOD_HEAP, List.of("flood", "--manager",
          socket(flooded).toString(), "--ranks", Integer.toString(settings.ranks()), "--chain",
          Integer.toString(settings.chainBlocks()), "--bytes", 2 * settings.dram().bytes() + "B"), line -> {})) {
        flood.awaitReady();
        CacheStats before = client.stats();
        long start = System.nanoTime();
        lookUp(beside, counted);
        if (counted && beside == Beside.FLOOD) {
          CacheStats after = client.stats();
          seconds += (System.nanoTime() - start) / 1e9;
          queries += after.queries() - before.queries();
          fromSsd += after.blocksHitSsd() - before.blocksHitSsd();
          saved += after.blocksSaved() - before.blocksSaved();
        }
        flood.end(END_LIMIT);
      }
    }

    private void lookUp(Beside beside, boolean counted) {
      long end = System.nanoTime() + settings.part().toNanos();
      PrefixChain[] chains = new PrefixChain[VICTIM_CHAINS];
      for (int i = 0; i < chains.length; i++) {
        chains[i] = blocks.chain(i);
      }
      for (int i = 0; System.nanoTime() - end < 0; i = (i + 1) % chains.length) {
        long start = System.nanoTime();
        var ticket = session.query(chains[i]);
        Answer answer = ticket.poll();
        long nanos = System.nanoTime() - start;
        boolean hit = answer instanceof Answer.Hit whole && whole.dramBlocks() == chains[i].blocks();
        if (answer instanceof Answer.Hit any) {
          any.lease().close();
        } else {
          ticket.cancel();
        }
        if (counted) {
          times.get(beside).recordValue(nanos);
          if (beside == Beside.FLOOD) {
            underFlood++;
            hits += hit ? 1 : 0;
          }
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }

    Result result() {
      return new Result(times, 100.0 * hits / Math.max(1, underFlood),
          new Flooded(queries / seconds, fromSsd / seconds, saved / seconds));
    }
  }
}
