package io.orbitkv.cli.bench;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Cache;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Lease;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.Transfer;
import io.orbitkv.cli.terminal.Progress;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Times whole saves and restores of ranks whose layer-major pages lie scattered in memory files, beside plain copies of
 * as many bytes between the same memories, block by block, with one thread a rank. Both take turns, round by round. A
 * save is the reservation, the copies with their checksums, and the commit; a restore is the grant, the copies, and
 * their drain.
 */
public final class CopyBench {

  /** So many that reserving and committing blocks, a fiftieth of a save, is compiled as it is in a cache that works. */
  private static final int WARM_UP_ROUNDS = 25;
  private static final Duration QUERY_LIMIT = Duration.ofSeconds(10);

  private final Settings settings;

  /**
   * @param settings what is measured
   */
  public CopyBench(Settings settings) {
    this.settings = settings;
  }

  /**
   * What is measured.
   *
   * @param ranks ranks that copy at the same time
   * @param layers layers of a block
   * @param pageBytes bytes of a page of one layer
   * @param blocks blocks a rank copies in each round
   * @param rounds timed rounds
   * @param seed decides bytes and order
   */
  public record Settings(int ranks, int layers, int pageBytes, int blocks, int rounds, long seed) {

    /** Checks the sizes. */
    public Settings {
      if (ranks < 1 || layers < 1 || pageBytes < 8 || blocks < 1 || rounds < 1) {
        throw new RefusedException("benchmark of " + ranks + " ranks, " + layers + " layers, pages of " + pageBytes
            + " bytes, " + blocks + " blocks and " + rounds + " rounds, expected at least 1 of each, and 8 bytes");
      }
    }

    /** Returns the bytes that one round moves. */
    public long roundBytes() {
      return (long) ranks * layers * pageBytes * blocks;
    }

    /** Returns the memory that a cache needs: for the blocks of the round before, of this one, and the edges. */
    public long memoryBytes() {
      return 3 * roundBytes() + (64L << 20);
    }
  }

  /**
   * Bytes per nanosecond, medians over the rounds, and the median of the rounds' ratios.
   *
   * @param settings of the run
   * @param save of saves
   * @param plainSave of plain copies into the cache's memory
   * @param saveRatio of the two, round by round
   * @param restore of restores
   * @param plainRestore of plain copies out of the cache's memory
   * @param restoreRatio of the two, round by round
   */
  public record Result(Settings settings, double save, double plainSave, double saveRatio, double restore,
      double plainRestore, double restoreRatio) {}

  /** One rank's memory: pages, and as many bytes in one piece for the plain copies. */
  private final class Rank implements AutoCloseable {
    final int number;
    final Device device;
    final Arena arena = Arena.ofShared();
    final MemorySegment plain;
    final MemorySegment pool;
    final EnginePages pages;
    final int[] sources;
    final int[] targets;

    Rank(int number, Device device, Path file) throws IOException {
      this.number = number;
      this.device = device;
      int pageCount = 2 * settings.blocks();
      long layerStride = (long) pageCount * settings.pageBytes();
      PageLayout layout = new PageLayout(
          settings.layers(), pageCount, settings.pageBytes(), layerStride, settings.pageBytes());
      long plainBytes = (long) settings.blocks() * layout.shardBytes();
      MemorySegment memory;
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ,
          StandardOpenOption.WRITE)) {
        memory = channel.map(MapMode.READ_WRITE, 0, layout.poolBytes() + plainBytes, arena);
      }
      SplittableRandom random = new SplittableRandom(settings.seed() + number);
      for (long at = 0; at < memory.byteSize() / Long.BYTES; at++) {
        memory.setAtIndex(ValueLayout.JAVA_LONG, at, random.nextLong());
      }
      this.pool = memory.asSlice(0, layout.poolBytes());
      this.plain = memory.asSlice(layout.poolBytes());
      this.pages = device.pages(layout, pool);
      int[] shuffled = IntStream.range(0, pageCount).toArray();
      for (int i = pageCount - 1; i > 0; i--) {
        int j = random.nextInt(i + 1);
        int page = shuffled[i];
        shuffled[i] = shuffled[j];
        shuffled[j] = page;
      }
      this.sources = Arrays.copyOf(shuffled, settings.blocks());
      this.targets = Arrays.copyOfRange(shuffled, settings.blocks(), pageCount);
    }

    void verify() {
      PageLayout group = pages.layout().groups().getFirst();
      for (int i = 0; i < sources.length; i++) {
        for (int layer = 0; layer < group.layers(); layer++) {
          long source = group.offset(layer, sources[i]);
          long target = group.offset(layer, targets[i]);
          if (MemorySegment.mismatch(
              pool, source, source + group.pageBytes(), pool, target, target + group.pageBytes()) != -1) {
            throw new IllegalStateException("block " + i + ", layer " + layer + " of rank " + number + " is wrong");
          }
        }
      }
    }

    @Override
    public void close() {
      pages.close();
      device.close();
      arena.close();
    }
  }

  /** The times of one round in nanoseconds. */
  private record Round(long plainSave, long save, long plainRestore, long restore) {}

  /**
   * Measures.
   *
   * @param cache an empty cache of at least {@link Settings#memoryBytes()}
   * @param devices opens a device for each rank
   * @param folder where the ranks' memory files are made, in memory
   * @param progress told of rounds done
   * @return the medians
   * @throws InterruptedException if the thread was interrupted
   */
  public Result run(Cache cache, Supplier<Device> devices, Path folder, Progress progress)
      throws InterruptedException {
    List<Rank> ranks = new ArrayList<>();
    Namespace namespace = Namespace.builder("orbitkv-bench", "1", Digest.ZERO).build();
    ShardLayout layout = new ShardLayout(settings.ranks(), settings.layers() * settings.pageBytes());
    try (ExecutorService threads = Executors.newFixedThreadPool(settings.ranks());
        Session session = cache.attach(new SessionSpec("bench", namespace, layout, 0))) {
      for (int i = 0; i < settings.ranks(); i++) {
        ranks.add(new Rank(i, devices.get(), folder.resolve("rank-" + i)));
      }
      List<Round> rounds = new ArrayList<>();
      for (int i = 0; i < WARM_UP_ROUNDS + settings.rounds(); i++) {
        Round round = round(session, ranks, threads, i);
        if (i >= WARM_UP_ROUNDS) {
          rounds.add(round);
        }
        progress.advanceTo(Math.max(0, i + 1 - WARM_UP_ROUNDS));
      }
      return result(rounds);
    } catch (IOException e) {
      throw new UnavailableException("memory of the ranks cannot be made in " + folder + ": " + e, e);
    } finally {
      ranks.forEach(Rank::close);
    }
  }

  private Round round(Session session, List<Rank> ranks, ExecutorService threads, int number)
      throws InterruptedException {
    PrefixChain chain = chain(number);
    List<SaveGrant> grants = new ArrayList<>();
    for (Rank rank : ranks) {
      grants.add(session.reserve(rank.number, chain, 0, settings.blocks()));
    }
    long plainSave = timed(threads, ranks, rank -> copyPlain(rank, grants.get(rank.number)));
    grants.forEach(SaveGrant::close);
    long save = timed(threads, ranks, rank -> save(session, rank, chain));

    long plainRestore;
    try (Lease lease = lease(session, chain)) {
      List<RestoreGrant> reads = ranks.stream().map(rank -> session.restore(lease, rank.number)).toList();
      plainRestore = timed(threads, ranks, rank -> copyPlain(reads.get(rank.number), rank));
      reads.forEach(RestoreGrant::drained);
    }
    long restore;
    try (Lease lease = lease(session, chain)) {
      restore = timed(threads, ranks, rank -> restore(session, rank, lease));
    }
    ranks.forEach(Rank::verify);
    return new Round(plainSave, save, plainRestore, restore);
  }

  private PrefixChain chain(int number) {
    int first = number * settings.blocks();
    return PrefixChain.ofTokens(IntStream.range(first, first + settings.blocks()).toArray(), 1);
  }

  private static Lease lease(Session session, PrefixChain chain) throws InterruptedException {
    Answer answer = session.query(chain).await(QUERY_LIMIT);
    if (answer instanceof Answer.Hit hit && hit.blocks() == chain.blocks()) {
      return hit.lease();
    }
    throw new IllegalStateException("blocks that were just saved are not there: " + answer);
  }

  private void copyPlain(Rank rank, SaveGrant grant) {
    long bytes = rank.pages.layout().shardBytes();
    for (int block = 0; block < settings.blocks(); block++) {
      MemorySegment.copy(rank.plain, block * bytes, grant.shard(block), 0, bytes);
    }
  }

  private void copyPlain(RestoreGrant grant, Rank rank) {
    long bytes = rank.pages.layout().shardBytes();
    for (int block = 0; block < settings.blocks(); block++) {
      MemorySegment.copy(grant.shard(block), 0, rank.plain, block * bytes, bytes);
    }
  }

  private void save(Session session, Rank rank, PrefixChain chain) {
    try (SaveGrant grant = session.reserve(rank.number, chain, 0, settings.blocks())) {
      MemorySegment[] shards = new MemorySegment[settings.blocks()];
      Arrays.setAll(shards, grant::shard);
      Transfer transfer = rank.device.save(rank.pages, rank.sources, shards);
      transfer.awaitDrained();
      for (int block = 0; block < shards.length; block++) {
        grant.copied(block, transfer.checksum(block));
      }
      grant.commit();
    }
  }

  private void restore(Session session, Rank rank, Lease lease) {
    try (RestoreGrant grant = session.restore(lease, rank.number)) {
      MemorySegment[] shards = new MemorySegment[settings.blocks()];
      Arrays.setAll(shards, grant::shard);
      Transfer transfer = rank.device.restore(rank.pages, rank.targets, shards);
      grant.enqueued();
      transfer.awaitDrained();
    }
  }

  /** What one rank does. */
  @FunctionalInterface
  private interface Work {
    void of(Rank rank);
  }

  /** Has all ranks work at once, and returns how long it took. */
  private static long timed(ExecutorService threads, List<Rank> ranks, Work work) throws InterruptedException {
    List<Callable<Void>> calls = new ArrayList<>();
    for (Rank rank : ranks) {
      calls.add(() -> {
        work.of(rank);
        return null;
      });
    }
    long start = System.nanoTime();
    List<Future<Void>> ended = threads.invokeAll(calls);
    long nanos = System.nanoTime() - start;
    for (Future<Void> one : ended) {
      try {
        one.get();
      } catch (ExecutionException e) {
        throw new IllegalStateException("a rank failed: " + e.getCause(), e.getCause());
      }
    }
    return nanos;
  }

  private Result result(List<Round> rounds) {
    double bytes = settings.roundBytes();
    return new Result(settings,
        bytes / median(rounds.stream().mapToDouble(Round::save).toArray()),
        bytes / median(rounds.stream().mapToDouble(Round::plainSave).toArray()),
        median(rounds.stream().mapToDouble(round -> (double) round.plainSave() / round.save()).toArray()),
        bytes / median(rounds.stream().mapToDouble(Round::restore).toArray()),
        bytes / median(rounds.stream().mapToDouble(Round::plainRestore).toArray()),
        median(rounds.stream().mapToDouble(round -> (double) round.plainRestore() / round.restore()).toArray()));
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return (values[(values.length - 1) / 2] + values[values.length / 2]) / 2;
  }
}
