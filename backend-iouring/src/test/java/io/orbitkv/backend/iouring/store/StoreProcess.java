package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.api.spi.StoreStatus;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The program that is killed: owns a store and fills it round and round, several writes in flight, and says what it does.
 * Its lines: {@code ready}; {@code activating S} before the call; {@code acked N SHARDS BYTES S OFFSET} after the
 * completion. With {@code hold} it does nothing but own the store until its input ends.
 */
final class StoreProcess {

  private static final int IN_FLIGHT = 6;

  private record Completed(long token, StoreStatus status) {}

  private record Placed(TestExtent extent, int segment, int offset, MemorySegment record) {}

  private final BlockStore store;
  private final BlockingQueue<Completed> completions = new LinkedBlockingQueue<>();
  private final Queue<MemorySegment> records = new ArrayDeque<>();
  private final Placed[] placed = new Placed[IN_FLIGHT];

  private StoreProcess(BlockStore store) {
    this.store = store;
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    Path folder = Path.of(arguments[1]);
    StorageBackend backend = backend(arguments[0]);
    Map<String, String> settings = Map.of("segment-bytes", arguments[3]);
    try (BlockStore store = backend.open(new StoreOptions(folder, Long.parseLong(arguments[2]), settings))) {
      if (arguments[4].equals("hold")) {
        System.out.println("ready");
        while (System.in.read() >= 0) {
          // Until whoever started this closes its end.
        }
        return;
      }
      new StoreProcess(store).fill(Long.parseLong(arguments[4]));
    }
  }

  static StorageBackend backend(String name) {
    return name.equals("io_uring") ? new UringStorage() : new ChannelStorage();
  }

  private void fill(long firstNumber) throws InterruptedException {
    List<Integer> unsealed = new ArrayList<>();
    store.recover(new RecoverySink() {
      @Override
      public void segment(int segment, long generation, SegmentState state) {
        if (state == SegmentState.UNSEALED) {
          unsealed.add(segment);
        }
      }

      @Override
      public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {}
    });
    store.start((token, status) -> completions.add(new Completed(token, status)), List.of());
    System.out.println("ready");
    for (int segment : unsealed) {
      store.seal(segment, -1);
      awaitOne();
    }
    Random random = new Random(firstNumber);
    MemorySegment memory = Arena.global().allocate(IN_FLIGHT * 32L * Page.BYTES, Page.BYTES);
    for (int i = 0; i < IN_FLIGHT; i++) {
      records.add(memory.asSlice(i * 32L * Page.BYTES, 32L * Page.BYTES));
    }
    long number = firstNumber;
    for (int segment = random.nextInt(store.geometry().segments()); ; segment = next(segment)) {
      System.out.println("activating " + segment);
      store.activate(segment, -1);
      awaitOne();
      while (append(new TestExtent(number, 1 + random.nextInt(3), 1 + random.nextInt(19_000)), segment)) {
        number++;
      }
      while (records.size() < IN_FLIGHT) {
        awaitOne();
      }
      store.seal(segment, -1);
      awaitOne();
    }
  }

  private int next(int segment) {
    return (segment + 1) % store.geometry().segments();
  }

  private boolean append(TestExtent extent, int segment) throws InterruptedException {
    while (records.isEmpty()) {
      awaitOne();
    }
    MemorySegment memory = records.remove();
    MemorySegment record = memory.asSlice(0, extent.recordBytes());
    int slot = 0;
    while (placed[slot] != null) {
      slot++;
    }
    int offset = store.append(segment, extent.fill(record), record, slot);
    if (offset == BlockStore.FULL) {
      records.add(memory);
      return false;
    }
    placed[slot] = new Placed(extent, segment, offset, memory);
    store.submit();
    return true;
  }

  private void awaitOne() throws InterruptedException {
    store.submit();
    Completed completed = completions.take();
    if (completed.status() != StoreStatus.OK) {
      throw new IllegalStateException("ended with " + completed.status());
    }
    if (completed.token() >= 0) {
      Placed done = placed[(int) completed.token()];
      placed[(int) completed.token()] = null;
      records.add(done.record());
      System.out.println("acked " + done.extent().number() + " " + done.extent().shards() + " "
          + done.extent().shardBytes() + " " + done.segment() + " " + done.offset());
    }
  }
}
