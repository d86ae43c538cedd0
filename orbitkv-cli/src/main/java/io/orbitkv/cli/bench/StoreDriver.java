package io.orbitkv.cli.bench;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreGeometry;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.zip.CRC32C;

/**
 * Drives a store as the core does: a fixed number of transfers in flight, segments filled in a row, the next one
 * activated ahead, full ones sealed. Used by one thread.
 */
final class StoreDriver implements AutoCloseable {

  private static final long HUGE_PAGE = 2L << 20;

  /** Tokens below are transfers, by their slot; then come activations and seals, by their segment. */
  private static final long ACTIVATION = 1L << 32;
  private static final long SEAL = 1L << 33;

  /** What a segment is, as far as its completions tell. */
  private enum SegmentState { IDLE, ACTIVATING, ACTIVE, SEALING }

  /**
   * Requests outstanding beyond those that the device is given at once, as a part of them, so that the next one is there
   * when one ends, also while others are being verified. The device has no more in flight than fio gives it.
   */
  private static final int TRANSFERS_PER_SPARE = 4;

  private final BlockStore store;
  private final MemoryPool pool;
  private final StoreGeometry geometry;
  private final long blockBytes;
  private final Namespace namespace = Namespace.builder("orbitkv-bench", "1", Digest.ZERO).build();
  private final SplittableRandom random;
  private final CRC32C crc = new CRC32C();
  private final MemorySegment[] records;
  private final long hugePageBytes;
  private final Deque<Integer> freeSlots = new ArrayDeque<>();
  private final BlockingQueue<Completion> completions;
  private final List<Completion> batch = new ArrayList<>();
  private final SegmentState[] states;
  private final List<List<Extent>> extents = new ArrayList<>();
  private int segment;
  private int segmentsInTransition;
  private long blocks;

  /**
   * Makes a store and fills its buffers with noise.
   *
   * @param storage the backend
   * @param memory where the buffers lie
   * @param folder the store's folder, which does not exist
   * @param settings the store's and the blocks' sizes, transfers in flight, and the seed for noise and order
   */
  static StoreDriver open(StorageBackend storage, HostMemory memory, Path folder, SsdBench.Settings settings) {
    long blockBytes = settings.blockBytes();
    Map<String, String> storageSettings = new HashMap<>(Map.of("depth", Integer.toString(settings.depth())));
    storageSettings.putAll(settings.storageSettings());
    BlockStore store = storage.open(new StoreOptions(folder, settings.fileBytes(), storageSettings));
    try {
      StoreGeometry geometry = store.geometry();
      if (geometry.segments() < 3 || geometry.maxPayloadBytes() < blockBytes) {
        throw new RefusedException("a store of " + new ByteSize(settings.fileBytes()) + " has " + geometry.segments()
            + " segments for blocks of at most " + new ByteSize(geometry.maxPayloadBytes())
            + ", expected 3 for blocks of " + new ByteSize(blockBytes) + "; raise --file-bytes");
      }
      // Whole huge pages, and one to spare for the pool's own edges.
      long poolBytes = (requests(settings.depth()) * geometry.recordBytes(blockBytes) + 2 * HUGE_PAGE - 1) & -HUGE_PAGE;
      long hugePagesBefore = HugePages.of(ProcessHandle.current().pid());
      MemoryPool pool = memory.open(new MemoryOptions(poolBytes, folder.resolveSibling("runtime"), Map.of()));
      return new StoreDriver(store, pool, blockBytes, settings.depth(), settings.seed(), hugePagesBefore);
    } catch (RuntimeException e) {
      store.close();
      throw e;
    }
  }

  private StoreDriver(
      BlockStore store, MemoryPool pool, long blockBytes, int depth, long seed, long hugePagesBefore) {
    this.store = store;
    this.pool = pool;
    this.geometry = store.geometry();
    this.blockBytes = blockBytes;
    this.random = new SplittableRandom(seed);
    this.records = new MemorySegment[requests(depth)];
    for (int slot = 0; slot < records.length; slot++) {
      records[slot] = takeRecord(geometry.recordBytes(blockBytes));
      freeSlots.add(slot);
    }
    this.hugePageBytes = Math.max(0, HugePages.of(ProcessHandle.current().pid()) - hugePagesBefore);
    // One completion at most for each transfer in flight and each segment.
    this.completions = new ArrayBlockingQueue<>(records.length + geometry.segments());
    this.states = new SegmentState[geometry.segments()];
    for (int i = 0; i < states.length; i++) {
      states[i] = SegmentState.IDLE;
      extents.add(new ArrayList<>());
    }
    store.recover(new NothingExpected());
    store.start((token, status) -> completions.add(new Completion(token, status)), pool.regions());
    activate(segment);
    awaitAll();
  }

  private static int requests(int depth) {
    return depth + Math.ceilDiv(depth, TRANSFERS_PER_SPARE);
  }

  /** Returns what the buffers are, in their provider's words. */
  String memory() {
    return pool.describe();
  }

  /** Returns the bytes of the buffers. */
  long bufferBytes() {
    return records.length * geometry.recordBytes(blockBytes);
  }

  /** Returns the bytes of the buffers that lie on huge pages. */
  long hugePageBytes() {
    return hugePageBytes;
  }

  /** Appends blocks and returns the rate in MiB/s, up to the completion of the last one and of all summaries. */
  double write(long bytes) {
    long count = Math.max(records.length, bytes / blockBytes);
    long start = System.nanoTime();
    for (long i = 0; i < count; i++) {
      int slot = takeSlot();
      ExtentHeader header = header(blocks++, checksum(records[slot]));
      int offset = store.append(segment, header, records[slot], slot);
      if (offset == BlockStore.FULL) {
        toNextSegment();
        offset = store.append(segment, header, records[slot], slot);
      }
      if (offset == BlockStore.FULL) {
        throw new IllegalStateException("an empty segment takes no block of " + blockBytes + " bytes");
      }
      extents.get(segment).add(new Extent(segment, offset, header));
    }
    awaitAll();
    return rate(count, System.nanoTime() - start);
  }

  /** Reads random blocks, each at most once, and returns the rate in MiB/s. */
  double read(long bytes) {
    List<Extent> order = new ArrayList<>();
    extents.forEach(order::addAll);
    int count = (int) Math.min(order.size(), bytes / blockBytes);
    for (int i = 0; i < count; i++) {
      int j = random.nextInt(i, order.size());
      Extent chosen = order.get(j);
      order.set(j, order.get(i));
      order.set(i, chosen);
    }
    long start = System.nanoTime();
    for (int i = 0; i < count; i++) {
      int slot = takeSlot();
      Extent extent = order.get(i);
      store.read(extent.segment(), extent.offset(), extent.header(), records[slot], slot);
    }
    awaitAll();
    return rate(count, System.nanoTime() - start);
  }

  @Override
  public void close() {
    store.close();
    pool.close();
  }

  private void toNextSegment() {
    states[segment] = SegmentState.SEALING;
    segmentsInTransition++;
    store.seal(segment, SEAL | segment);
    segment = (segment + 1) % states.length;
    if (states[segment] == SegmentState.IDLE) {
      activate(segment);
    }
    while (states[segment] != SegmentState.ACTIVE) {
      reap();
    }
    int ahead = (segment + 1) % states.length;
    while (states[ahead] == SegmentState.SEALING) {
      reap();
    }
    activate(ahead);
  }

  private void activate(int which) {
    states[which] = SegmentState.ACTIVATING;
    segmentsInTransition++;
    extents.get(which).clear();
    store.activate(which, ACTIVATION | which);
  }

  private int takeSlot() {
    while (freeSlots.isEmpty()) {
      reap();
    }
    return freeSlots.removeFirst();
  }

  private void awaitAll() {
    while (freeSlots.size() < records.length || segmentsInTransition > 0) {
      reap();
    }
  }

  /** Hands over what was asked for and waits for at least one completion. */
  private void reap() {
    store.submit();
    try {
      batch.add(completions.take());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UnavailableException("interrupted while transfers were in flight", e);
    }
    completions.drainTo(batch);
    batch.forEach(this::complete);
    batch.clear();
  }

  private void complete(Completion completion) {
    if (completion.status() != StoreStatus.OK) {
      throw new UnavailableException("a transfer ended with " + completion.status()
          + "; look at the free space, the permissions and the kernel's log");
    }
    long token = completion.token();
    if (token < ACTIVATION) {
      // The buffer that was used last is used next, as memory that an allocator gives out again.
      freeSlots.addFirst((int) token);
      return;
    }
    segmentsInTransition--;
    states[(int) token] = (token & SEAL) != 0 ? SegmentState.IDLE : SegmentState.ACTIVE;
  }

  /** The pool takes its memory in the background. */
  private MemorySegment takeRecord(long bytes) {
    while (true) {
      boolean whole = pool.readyBytes() == pool.capacityBytes();
      long offset = pool.allocate(bytes);
      if (offset != MemoryPool.NONE) {
        MemorySegment record = pool.slice(offset, bytes);
        for (long i = 0; i < bytes; i++) {
          record.set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
        }
        return record;
      }
      if (whole) {
        throw new UnavailableException("no room for a record of " + bytes + " bytes in a pool of "
            + pool.capacityBytes() + " with " + pool.allocatedBytes() + " in use");
      }
      Thread.onSpinWait();
    }
  }

  private int checksum(MemorySegment record) {
    crc.reset();
    crc.update(record.asSlice(geometry.headerBytes(), blockBytes).asByteBuffer());
    return (int) crc.getValue();
  }

  private ExtentHeader header(long block, int checksum) {
    return new ExtentHeader(namespace, 0, new Digest(block, 1, 1, 1), Digest.ZERO, 0, Math.toIntExact(blockBytes),
        new int[] {checksum});
  }

  private double rate(long count, long nanos) {
    return count * blockBytes / (double) (1 << 20) / (nanos / 1e9);
  }

  private record Extent(int segment, int offset, ExtentHeader header) {}

  private record Completion(long token, StoreStatus status) {}

  /** A folder that was just made holds nothing. */
  private static final class NothingExpected implements RecoverySink {
    @Override
    public void segment(int segment, long generation, SegmentState state) {}

    @Override
    public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
      throw new IllegalStateException("a new store holds " + header);
    }
  }
}
