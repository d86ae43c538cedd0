package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StoreGeometry;
import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A store in service with its own thread, used one call at a time. */
final class ServedStore implements AutoCloseable {

  /** An extent as recovery handed it over. */
  record Found(int segment, int offset, TestExtent extent) {}

  private record Completed(long token, StoreStatus status) {}

  private final BlockStore store;
  private final RecoveryReport report;
  private final List<Found> found = new ArrayList<>();
  private final List<Integer> unsealed = new ArrayList<>();
  private final BlockingQueue<Completed> completions = new LinkedBlockingQueue<>();
  private final Arena arena = Arena.ofShared();
  private long nextToken;

  ServedStore(BlockStore store) {
    this.store = store;
    this.report = store.recover(new RecoverySink() {
      private int segment;

      @Override
      public void segment(int index, long generation, SegmentState state) {
        segment = index;
        if (state == SegmentState.UNSEALED) {
          unsealed.add(index);
        }
      }

      @Override
      public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
        found.add(new Found(segment, offset, TestExtent.of(header, shards)));
      }
    });
    store.start((token, status) -> completions.add(new Completed(token, status)), List.of());
  }

  StoreGeometry geometry() {
    return store.geometry();
  }

  RecoveryReport report() {
    return report;
  }

  List<Found> found() {
    return found;
  }

  List<Integer> unsealed() {
    return unsealed;
  }

  StoreStatus activate(int segment) {
    store.activate(segment, nextToken);
    return await();
  }

  StoreStatus seal(int segment) {
    store.seal(segment, nextToken);
    return await();
  }

  /** Returns the offset, or {@link BlockStore#FULL}. */
  int append(int segment, TestExtent extent) {
    MemorySegment record = arena.allocate(extent.recordBytes(), Page.BYTES);
    int offset = store.append(segment, extent.fill(record), record, nextToken);
    if (offset != BlockStore.FULL) {
      assertThat(await()).isEqualTo(StoreStatus.OK);
    }
    return offset;
  }

  /** Reads and, if the store says that all is well, checks that it is. */
  StoreStatus read(Found extent) {
    MemorySegment record = arena.allocate(extent.extent().recordBytes(), Page.BYTES);
    store.read(extent.segment(), extent.offset(), extent.extent().expected(), record, nextToken);
    StoreStatus status = await();
    if (status == StoreStatus.OK) {
      assertThat(extent.extent().isIn(record)).as("bytes of %s", extent).isTrue();
    }
    return status;
  }

  private StoreStatus await() {
    store.submit();
    try {
      Completed completed = completions.poll(120, TimeUnit.SECONDS);
      assertThat(completed).as("a completion in time").isNotNull();
      assertThat(completed.token()).isEqualTo(nextToken++);
      return completed.status();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    store.close();
    arena.close();
  }
}
