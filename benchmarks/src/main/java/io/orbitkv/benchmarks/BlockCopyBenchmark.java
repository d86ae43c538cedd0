package io.orbitkv.benchmarks;

import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.Transfer;
import io.orbitkv.core.Backends;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Moving one block between scattered, layer-major pages and its packed shard with the {@code cpu} device: a save copies
 * and computes the checksum, a restore copies. The references are one plain copy of as many bytes, and the checksum
 * alone.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class BlockCopyBenchmark {

  private static final int LAYERS = 32;
  private static final int PAGES = 64;

  /** Bytes of the block. */
  @Param({"262144", "2097152"})
  int blockBytes;

  private final SplittableRandom random = new SplittableRandom(1);
  private final int[] page = new int[1];
  private final MemorySegment[] shard = new MemorySegment[1];
  private Arena arena;
  private Device device;
  private EnginePages pages;
  private MemorySegment pool;
  private MemorySegment[] shards;

  /** Takes memory for more blocks than a cache of the processor holds. */
  @Setup(Level.Trial)
  public void open() {
    arena = Arena.ofShared();
    int pageBytes = blockBytes / LAYERS;
    PageLayout layout = new PageLayout(LAYERS, PAGES, pageBytes, (long) pageBytes * PAGES, pageBytes);
    pool = arena.allocate(layout.poolBytes(), 4096);
    pool.fill((byte) 7);
    shards = new MemorySegment[PAGES];
    for (int i = 0; i < PAGES; i++) {
      shards[i] = arena.allocate(blockBytes, 4096).fill((byte) 3);
    }
    device = Backends.installed().device("cpu").open(new DeviceOptions(0, Map.of()));
    pages = device.pages(layout, pool);
  }

  /** Gives the memory back. */
  @TearDown(Level.Trial)
  public void close() {
    pages.close();
    device.close();
    arena.close();
  }

  /** Pages to shard, with the checksum. */
  @Benchmark
  public int save() {
    choose();
    Transfer transfer = device.save(pages, page, shard);
    transfer.awaitDrained();
    return transfer.checksum(0);
  }

  /** Shard to pages. */
  @Benchmark
  public void restore() {
    choose();
    device.restore(pages, page, shard).awaitDrained();
  }

  /** One copy of the same bytes. */
  @Benchmark
  public void plainCopy() {
    choose();
    MemorySegment.copy(pool, (long) page[0] * blockBytes, shard[0], 0, blockBytes);
  }

  /** The checksum alone. */
  @Benchmark
  public long checksum() {
    choose();
    CRC32C crc = new CRC32C();
    crc.update(shard[0].asByteBuffer());
    return crc.getValue();
  }

  private void choose() {
    page[0] = random.nextInt(PAGES);
    shard[0] = shards[random.nextInt(PAGES)];
  }
}
