package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StoreListener;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The driver's own failures, on its own thread: every request still ends, once, and so does the driver. */
@Timeout(30)
class DriverFailureTest {

  private static final RecoverySink NOTHING = new RecoverySink() {
    @Override
    public void segment(int segment, long generation, SegmentState state) {}

    @Override
    public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {}
  };

  private record Completed(long token, StoreStatus status) {}

  private final BlockingQueue<Completed> completions = new LinkedBlockingQueue<>();
  private final Map<Long, Boolean> tokens = new ConcurrentHashMap<>();
  private final CapturedLog log = new CapturedLog();
  private final FaultyDisk disk = new FaultyDisk(SteppedStore.SUPERBLOCK.fileBytes(), new Random(9));

  private SegmentStore started(SegmentStore.FileOpener opener, StoreListener listener) {
    SegmentStore store = new SegmentStore(SteppedStore.SUPERBLOCK, opener, new Drops(), () -> { }, log);
    store.recover(NOTHING);
    store.start(listener, List.of());
    return store;
  }

  private void note(long token, StoreStatus status) {
    assertThat(tokens.put(token, true)).isNull();
    completions.add(new Completed(token, status));
  }

  private Completed next() throws InterruptedException {
    Completed completed = completions.poll(20, TimeUnit.SECONDS);
    assertThat(completed).as("a completion").isNotNull();
    return completed;
  }

  /** A file whose poll throws once there is something in flight, from the second opening on. */
  private final class Breaking implements StoreFile {
    private final StoreFile file = disk.open(8);
    private final Throwable failure;
    private final boolean closable;
    private int inFlight;
    private boolean woken;

    Breaking(Throwable failure, boolean closable) {
      this.failure = failure;
      this.closable = closable;
    }

    @Override
    public int depth() {
      return file.depth();
    }

    @Override
    public String register(List<MemorySegment> regions) {
      return file.register(regions);
    }

    @Override
    public void read(long token, MemorySegment target, long position) {
      inFlight++;
      file.read(token, target, position);
    }

    @Override
    public void write(long token, MemorySegment source, long position) {
      inFlight++;
      file.write(token, source, position);
    }

    @Override
    public void sync(long token) {
      inFlight++;
      file.sync(token);
    }

    @Override
    public int poll(Completions receiver, boolean wait) {
      if (inFlight > 0) {
        throw sneaky(failure);
      }
      awaitWake(wait);
      return 0;
    }

    private synchronized void awaitWake(boolean wait) {
      while (wait && !woken) {
        try {
          wait();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      woken = false;
    }

    @Override
    public synchronized void wake() {
      woken = true;
      notifyAll();
    }

    @Override
    public void close() {
      if (!closable) {
        throw new IllegalStateException("cannot be closed");
      }
      file.close();
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException sneaky(Throwable failure) throws T {
    throw (T) failure;
  }

  private SegmentStore breaking(Throwable failure, boolean closable) {
    boolean[] opened = new boolean[1];
    return started(() -> {
      boolean first = !opened[0];
      opened[0] = true;
      return first ? disk.open(8) : new Breaking(failure, closable);
    }, this::note);
  }

  @Test
  void unexpectedException_endsEveryRequestNowAndLater() throws InterruptedException {
    try (SegmentStore store = breaking(new IllegalStateException("planted"), true)) {
      for (int segment = 0; segment < 3; segment++) {
        store.activate(segment, segment);
      }
      store.submit();
      for (int i = 0; i < 3; i++) {
        assertThat(next().status()).isEqualTo(StoreStatus.IO_ERROR);
      }
      store.activate(1, 10);
      store.submit();
      assertThat(next()).isEqualTo(new Completed(10, StoreStatus.IO_ERROR));
    }
    assertThat(log.lines).filteredOn(line -> line.startsWith("ERROR")).hasSize(1);
  }

  @Test
  void outOfMemory_endsEveryRequestToo() throws InterruptedException {
    try (SegmentStore store = breaking(new OutOfMemoryError("planted"), true)) {
      store.activate(0, 1);
      store.submit();
      assertThat(next()).isEqualTo(new Completed(1, StoreStatus.IO_ERROR));
    }
  }

  @Test
  void memoryThatMayStillBeWrittenTo_isNeverGivenBack() throws InterruptedException {
    try (SegmentStore store = breaking(new IllegalStateException("planted"), false);
        Arena arena = Arena.ofShared()) {
      TestExtent extent = new TestExtent(1, 1, 10);
      MemorySegment record = arena.allocate(extent.recordBytes(), Page.BYTES);
      store.read(0, 1, extent.expected(), record, 1);
      store.submit();
      // The read's end is not known. What comes later ends all the same.
      log.await("1 transfers cannot be proven to have ended");
      store.activate(0, 2);
      store.submit();
      assertThat(next()).isEqualTo(new Completed(2, StoreStatus.IO_ERROR));
    }
    assertThat(completions).isEmpty();
  }

  @Test
  void listenerThatThrows_isSaidOnceAndLosesNoOtherCompletion() throws InterruptedException {
    try (SegmentStore store = started(() -> disk.open(8), (token, status) -> {
      note(token, status);
      throw new IllegalStateException("planted");
    })) {
      for (int segment = 0; segment < 3; segment++) {
        store.activate(segment, segment);
        store.submit();
        assertThat(next()).isEqualTo(new Completed(segment, StoreStatus.OK));
      }
    }
    assertThat(log.lines).filteredOn(line -> line.contains("listener threw")).hasSize(1);
  }

  @Test
  void start_whenTheFileCannotBeOpened_saysSo() {
    boolean[] opened = new boolean[1];
    SegmentStore store = new SegmentStore(SteppedStore.SUPERBLOCK, () -> {
      if (opened[0]) {
        throw new IOException("planted");
      }
      opened[0] = true;
      return disk.open(8);
    }, new Drops(), () -> { }, log);
    store.recover(NOTHING);
    assertThatThrownBy(() -> store.start(this::note, List.of()))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("planted");
    store.close();
  }
}
