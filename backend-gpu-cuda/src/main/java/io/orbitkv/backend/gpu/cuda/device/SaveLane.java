package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.UnavailableException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/**
 * Saves, one behind another, in portions: a few are with the GPU at a time, so that it never waits for this process and a
 * load never waits behind more than that. One thread enqueues, one waits, and others sum what has arrived.
 */
final class SaveLane implements AutoCloseable {

  /** Most saves that wait. */
  static final int MAX_SAVES = 4096;

  /** Portions become smaller towards the end: the last one's sums are made when no copy runs any more. */
  private static final int LAST_PORTION_BYTES = 4 << 20;

  /** What room is counted in. */
  private static final int ROOM_BYTES = 1 << 10;

  /** So long a save asks for the engine's event, and with it all that were asked for meanwhile. */
  private static final long FENCE_NANOS = 20_000_000;

  /** What one thread sums at a time. */
  private static final int SUM_BYTES = 1 << 20;

  private final CopyLane lane;
  private final EventPool events;
  private final Watch watch;
  private final LoadsUnderWay loads;
  private final Pace pace;
  private final CopyMode mode;
  private final BlockingQueue<Optional<SaveTransfer>> waiting = new ArrayBlockingQueue<>(MAX_SAVES + 1);
  private final BlockingQueue<Optional<Portion>> enqueued = new LinkedBlockingQueue<>();
  private final Duration longestWait;
  private final long portionBytes;
  /** For bytes and not for portions: small ones at a save's end would leave the GPU with little to do. */
  private final Semaphore room;
  private final int mostRoom;
  private final ExecutorService sums;
  private final Thread enqueuer;
  private final Thread drainer;
  private boolean closed;

  /** Some blocks of a save, and the event behind their copies. */
  private record Portion(
      SaveTransfer save, int from, int to, int room, long event, Optional<KernelBlocks> kernelBlocks) {}

  SaveLane(CopyLane lane, EventPool events, Watch watch, LoadsUnderWay loads, Settings settings) {
    this.lane = lane;
    this.events = events;
    this.watch = watch;
    this.loads = loads;
    this.pace = new Pace(settings.saveRate());
    this.mode = settings.saves();
    this.longestWait = settings.yield();
    this.portionBytes = settings.savePortion();
    this.mostRoom = (int) Math.min(Integer.MAX_VALUE, settings.savePortions() * (portionBytes / ROOM_BYTES));
    this.room = new Semaphore(mostRoom);
    this.sums = Executors.newFixedThreadPool(
        settings.checksumThreads(), Thread.ofPlatform().daemon().name("orbitkv-checksum-", 0).factory());
    this.enqueuer = Thread.ofPlatform().daemon().name("orbitkv-save").start(this::enqueue);
    this.drainer = Thread.ofPlatform().daemon().name("orbitkv-save-drain").start(this::drain);
  }

  synchronized void add(SaveTransfer save) {
    if (closed) {
      throw new ClosedException("device cuda was closed");
    }
    if (save.blocks().count() > 0 && (waiting.size() >= MAX_SAVES || !waiting.offer(Optional.of(save)))) {
      throw new UnavailableException(
          "device cuda has " + MAX_SAVES + " saves waiting, which is its bound; wait until some are drained");
    }
  }

  private void enqueue() {
    try {
      while (waiting.take().orElse(null) instanceof SaveTransfer save) {
        enqueue(save);
      }
      enqueued.add(Optional.empty());
    } catch (InterruptedException e) {
      throw watch.unknown("the thread that enqueues saves was interrupted");
    }
  }

  private void enqueue(SaveTransfer save) throws InterruptedException {
    int count = save.blocks().count();
    int least = (int) Math.max(1, Math.min(LAST_PORTION_BYTES, portionBytes) / save.pages().shardBytes());
    int most = (int) Math.max(1, portionBytes / save.pages().shardBytes());
    int to;
    for (int from = 0; from < count; from = to) {
      to = Math.min(from + Math.clamp((count - from) / 2, least, most), count);
      if (!save.failed()) {
        long bytes = (long) (to - from) * save.pages().shardBytes();
        int taken = (int) Math.min(mostRoom, Math.ceilDiv(bytes, ROOM_BYTES));
        room.acquire(taken);
        // Pages of saves are pages that the engine cannot use: not for long.
        loads.giveWay(longestWait);
        pace.take(bytes);
        enqueued.add(Optional.of(portion(save, from, to, taken)));
      } else {
        save.copied(from, to);
      }
    }
    save.enqueuedAll();
  }

  private Portion portion(SaveTransfer save, int from, int to, int taken) {
    Optional<KernelBlocks> kernelBlocks = Optional.empty();
    try {
      if (from == 0) {
        save.pages().saveFence().ifPresent(fence -> fence.pass(lane, save.askedNanos(), FENCE_NANOS));
      }
      GpuPages pages = save.pages();
      if (mode == CopyMode.KERNEL) {
        kernelBlocks = Optional.of(lane.kernelBlocks(save.blocks(), from, to));
        for (int band = 0; band < pages.loadBands().size(); band++) {
          lane.kernel(pages, band, kernelBlocks.get());
        }
      } else {
        for (Band band : pages.saveBands()) {
          lane.direct(band, save.blocks(), from, to);
        }
      }
    } catch (RuntimeException e) {
      save.fail(e);
    }
    try {
      // Behind whatever was enqueued, also if that was not all.
      long event = events.take();
      lane.record(event);
      return new Portion(save, from, to, taken, event, kernelBlocks);
    } catch (UnavailableException e) {
      throw watch.unknown(e.getMessage());
    }
  }

  private void drain() {
    try {
      while (enqueued.take().orElse(null) instanceof Portion portion) {
        watch.await(portion.event(), portion.save().pages().owner());
        events.give(portion.event());
        portion.kernelBlocks().ifPresent(lane::give);
        room.release(portion.room());
        SaveTransfer save = portion.save();
        int atOnce = Math.max(1, SUM_BYTES / save.pages().shardBytes());
        for (int from = portion.from(); from < portion.to(); from += atOnce) {
          int first = from;
          int end = Math.min(from + atOnce, portion.to());
          sums.execute(() -> save.copied(first, end));
        }
      }
    } catch (InterruptedException e) {
      throw watch.unknown("the thread that waits for saves was interrupted");
    }
  }

  /** Takes no more, and returns when those that were taken are drained. */
  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      waiting.add(Optional.empty());
    }
    boolean interrupted = join(enqueuer) | join(drainer);
    // Waits for its tasks.
    sums.close();
    lane.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    return interrupted;
  }
}
