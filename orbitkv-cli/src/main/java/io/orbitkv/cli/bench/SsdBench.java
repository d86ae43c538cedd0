package io.orbitkv.cli.bench;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.cli.terminal.Progress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/**
 * Writes and reads blocks through a storage backend, checksums on, beside fio with the same block size and depth on the
 * same disk: in alternation, since a disk that is shared or warms up changes from minute to minute.
 *
 * <p>Blocks are appended as the cache appends them, segment after segment, a sync and a summary at the end of each; fio
 * writes its file from front to back. Reads are of random blocks on both sides. Only the blocks' bytes count, on both
 * sides; the header that the store keeps before each block is its own expense. Both files are written once before
 * anything is timed.
 */
public final class SsdBench {

  private final Settings settings;
  private final StorageBackend storage;
  private final HostMemory memory;

  /**
   * @param settings what is measured
   * @param storage the backend to measure
   * @param memory where its buffers lie
   */
  public SsdBench(Settings settings, StorageBackend storage, HostMemory memory) {
    this.settings = settings;
    this.storage = storage;
    this.memory = memory;
  }

  /**
   * What is measured.
   *
   * @param blockBytes bytes of a block
   * @param depth transfers in flight
   * @param fileBytes size of each of the two files
   * @param roundBytes bytes of one timed round
   * @param rounds timed rounds of each kind
   * @param storageSettings settings of the backend; the depth is one of them unless it is here
   * @param seed decides the order of the reads
   */
  public record Settings(long blockBytes, int depth, long fileBytes, long roundBytes, int rounds,
      Map<String, String> storageSettings, long seed) {

    /** Copies the map and checks the sizes. */
    public Settings {
      storageSettings = Map.copyOf(storageSettings);
      if (depth < 1 || rounds < 1) {
        throw new RefusedException("depth " + depth + " and " + rounds + " rounds, expected at least 1 of each");
      }
      if (roundBytes > fileBytes / 2) {
        throw new RefusedException("rounds of " + new ByteSize(roundBytes) + " in files of " + new ByteSize(fileBytes)
            + ", expected at most half, since the oldest segment is given up while the newest is filled");
      }
      if (blockBytes < 4096 || blockBytes % 4096 != 0 || blockBytes > 1 << 30 || blockBytes * depth > roundBytes) {
        throw new RefusedException("block of " + new ByteSize(blockBytes) + ", expected a multiple of 4KiB, at most "
            + "1GiB, " + depth + " of which fit into a round of " + new ByteSize(roundBytes));
      }
    }
  }

  /**
   * Rates of one direction, in MiB/s, one a round.
   *
   * @param store the backend's
   * @param fio fio's, empty where it is not installed
   */
  public record Rates(double[] store, double[] fio) {

    /** Returns the median of the backend's rates. */
    public double storeMedian() {
      return median(store);
    }

    /** Returns the median of fio's rates, if there is fio. */
    public Optional<Double> fioMedian() {
      return fio.length == 0 ? Optional.empty() : Optional.of(median(fio));
    }

    /** Returns the median over the rounds of the backend's rate over fio's, if there is fio. */
    public Optional<Double> ratio() {
      if (fio.length == 0) {
        return Optional.empty();
      }
      double[] ratios = new double[fio.length];
      Arrays.setAll(ratios, i -> store[i] / fio[i]);
      return Optional.of(median(ratios));
    }

    private static double median(double[] values) {
      double[] sorted = values.clone();
      Arrays.sort(sorted);
      int middle = sorted.length / 2;
      return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
  }

  /**
   * What was measured.
   *
   * @param settings of the run
   * @param write appending
   * @param read reading and verifying
   * @param memory what the backend's buffers are, in their provider's words
   * @param bufferBytes bytes of those buffers
   * @param storeHugePageBytes bytes of them seen on huge pages
   * @param fioHugePageBytes bytes of fio's process seen on huge pages
   */
  public record Result(Settings settings, Rates write, Rates read, String memory, long bufferBytes,
      long storeHugePageBytes, long fioHugePageBytes) {}

  /**
   * Measures.
   *
   * @param folder an empty folder on the disk to measure; both files are left in it
   * @param progress told of rounds done
   * @return the rates
   * @throws InterruptedException if the thread was interrupted
   */
  public Result run(Path folder, Progress progress) throws InterruptedException {
    double[] storeWrites = new double[settings.rounds()];
    double[] storeReads = new double[settings.rounds()];
    double[] fioWrites = new double[settings.rounds()];
    double[] fioReads = new double[settings.rounds()];
    long fioHugePageBytes = 0;
    try (StoreDriver store = StoreDriver.open(storage, memory, folder.resolve("store"), settings)) {
      boolean hugePages = store.hugePageBytes() > store.bufferBytes() / 2;
      Optional<Fio> fio = Fio.find(folder.resolve("fio"), settings.fileBytes(), settings.depth(), hugePages);
      store.write(settings.fileBytes());
      store.read(settings.roundBytes());
      if (fio.isPresent()) {
        fio.get().prepare();
      }
      for (int round = 0; round < settings.rounds(); round++) {
        for (int turn = 0; turn < 2; turn++) {
          if ((round + turn) % 2 == 0) {
            storeWrites[round] = store.write(settings.roundBytes());
            storeReads[round] = store.read(settings.roundBytes());
          } else if (fio.isPresent()) {
            Fio.Run write = fio.get().run("write", settings.blockBytes(), settings.roundBytes());
            Fio.Run read = fio.get().run("randread", settings.blockBytes(), settings.roundBytes());
            fioWrites[round] = write.mebibytesPerSecond();
            fioReads[round] = read.mebibytesPerSecond();
            fioHugePageBytes = Math.max(fioHugePageBytes, Math.max(write.hugePageBytes(), read.hugePageBytes()));
          }
        }
        progress.advanceTo(round + 1L);
      }
      int fioRounds = fio.isPresent() ? settings.rounds() : 0;
      return new Result(
          settings,
          new Rates(storeWrites, Arrays.copyOf(fioWrites, fioRounds)),
          new Rates(storeReads, Arrays.copyOf(fioReads, fioRounds)),
          store.memory(),
          store.bufferBytes(),
          store.hugePageBytes(),
          fioHugePageBytes);
    }
  }
}
