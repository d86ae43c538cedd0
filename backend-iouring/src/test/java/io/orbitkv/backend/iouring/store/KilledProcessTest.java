package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.api.spi.StoreStatus;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code kill -9} of a real process that fills a store, again and again on the same store. */
@Timeout(600)
class KilledProcessTest {

  private static final int ROUNDS = 10;
  private static final int ENOUGH = 100;
  private static final String SEGMENT_BYTES = "256KiB";
  private static final long CAPACITY = Sizing.footprintBytes(Superblock.PREAMBLE_BYTES + 8 * (256 << 10));

  @TempDir
  Path parent;

  /** Extents that were acknowledged and whose segment was not activated since, by number. */
  private final Map<Long, ServedStore.Found> acknowledged = new HashMap<>();

  private final Random random = new Random(20_261_129);
  private Path folder;
  private long verified;

  @ParameterizedTest
  @CsvSource({"io_uring, file", "file, io_uring"})
  void everythingAcknowledgedIsFoundAndEveryByteIsRight(String killed, String reader)
      throws IOException, InterruptedException {
    folder = parent.resolve(killed);
    // A slow disk writes little in the time of a round, and needs more of them.
    for (int round = 0; round < ROUNDS || verified <= ENOUGH; round++) {
      runAndKill(killed, round);
      reopen(round % 2 == 0 ? reader : killed);
    }
  }

  private void runAndKill(String backend, int round) throws IOException, InterruptedException {
    long firstNumber = (round + 1) * 1_000_000L;
    try (ChildProcess child = new ChildProcess(backend, folder, CAPACITY, SEGMENT_BYTES, Long.toString(firstNumber))) {
      // The first is killed somewhere in its start, perhaps while it makes the store, the others at work.
      if (round > 0) {
        child.awaitReady();
      }
      // Not a wait for anything: the moment of death is what the test varies.
      LockSupport.parkNanos((round > 0 ? 20 + random.nextInt(250) : 100 + random.nextInt(300)) * 1_000_000L);
      child.requireAlive();
      child.kill().forEach(this::note);
    }
  }

  private void note(String line) {
    String[] words = line.split(" ");
    switch (words[0]) {
      case "activating" -> {
        int segment = Integer.parseInt(words[1]);
        acknowledged.values().removeIf(extent -> extent.segment() == segment);
      }
      case "acked" -> {
        TestExtent extent =
            new TestExtent(Long.parseLong(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
        acknowledged.put(extent.number(),
            new ServedStore.Found(Integer.parseInt(words[4]), Integer.parseInt(words[5]), extent));
      }
      default -> throw new AssertionError(line);
    }
  }

  private void reopen(String backend) {
    BlockStore opened = StoreProcess.backend(backend)
        .open(new StoreOptions(folder, CAPACITY, Map.of("segment-bytes", SEGMENT_BYTES)));
    try (ServedStore store = new ServedStore(opened)) {
      List<ServedStore.Found> found = store.found();
      assertThat(found).containsAll(acknowledged.values());
      for (ServedStore.Found extent : found) {
        // Nothing but a death happened: whatever is handed over must be good.
        assertThat(store.read(extent)).as("%s", extent).isEqualTo(StoreStatus.OK);
        verified++;
      }
    }
  }
}
