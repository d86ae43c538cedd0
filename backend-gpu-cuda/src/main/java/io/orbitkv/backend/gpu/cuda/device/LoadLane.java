package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.UnavailableException;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/** Loads, which are enqueued at once on their callers' threads: the first copy runs while the last is enqueued. */
final class LoadLane implements AutoCloseable {

  /** Most loads that are not drained. */
  static final int MAX_LOADS = 4096;

  private static final int NO_MARK = 0;

  private final CopyLane lane;
  private final EventPool events;
  private final Watch watch;
  private final LoadsUnderWay underWay;
  private final Set<RestoreTransfer> loads = new HashSet<>();
  private boolean closed;

  LoadLane(CopyLane lane, EventPool events, Watch watch, LoadsUnderWay underWay) {
    this.lane = lane;
    this.events = events;
    this.watch = watch;
    this.underWay = underWay;
  }

  synchronized RestoreTransfer begin(GpuPages pages, BlockCopies blocks, CopyMode mode, int mark) {
    if (closed) {
      throw new ClosedException("device cuda was closed");
    }
    if (loads.size() >= MAX_LOADS) {
      throw new UnavailableException(
          "device cuda has " + MAX_LOADS + " loads under way, which is its bound; wait until some are drained");
    }
    // Before the driver is asked for anything, which may be pinning.
    underWay.begin();
    long[] bandEvents;
    try {
      bandEvents = takeEvents(pages.loadBands().size());
    } catch (RuntimeException e) {
      underWay.end();
      throw e;
    }
    Optional<KernelBlocks> kernelBlocks = Optional.empty();
    Throwable failure = null;
    int band = 0;
    try {
      // The engine waits for this thread, so that it does not wait for the engine.
      pages.loadFence().ifPresent(fence -> fence.pass(lane, System.nanoTime(), 0));
      if (mode == CopyMode.KERNEL && blocks.count() > 0) {
        kernelBlocks = Optional.of(lane.kernelBlocks(blocks, 0, blocks.count()));
      }
      for (; band < bandEvents.length; band++) {
        if (kernelBlocks.isPresent()) {
          lane.kernel(pages, band, kernelBlocks.get());
        } else {
          lane.direct(pages.loadBands().get(band), blocks, 0, blocks.count());
        }
        passed(pages, band, bandEvents[band], mark);
      }
    } catch (RuntimeException e) {
      failure = e;
    }
    try {
      // Behind whatever was enqueued, also if that was not all.
      for (; band < bandEvents.length; band++) {
        passed(pages, band, bandEvents[band], mark);
      }
    } catch (UnavailableException e) {
      throw watch.unknown(e.getMessage());
    }
    Optional<KernelBlocks> used = kernelBlocks;
    RestoreTransfer[] made = new RestoreTransfer[1];
    made[0] = new RestoreTransfer(pages, watch, bandEvents, failure, () -> ended(made[0], bandEvents, used));
    loads.add(made[0]);
    return made[0];
  }

  private void passed(GpuPages pages, int band, long event, int mark) {
    lane.record(event);
    // Also behind a band that failed: the engine is told of that when all is drained, and must not wait until then.
    if (mark != NO_MARK && pages.gates().isPresent()) {
      pages.gates().get().raise(lane, band, mark);
    }
  }

  private long[] takeEvents(int count) {
    long[] taken = new long[count];
    for (int i = 0; i < count; i++) {
      taken[i] = events.take();
    }
    return taken;
  }

  private void ended(RestoreTransfer load, long[] bandEvents, Optional<KernelBlocks> kernelBlocks) {
    for (long event : bandEvents) {
      events.give(event);
    }
    kernelBlocks.ifPresent(lane::give);
    underWay.end();
    synchronized (this) {
      loads.remove(load);
    }
  }

  /** Takes no more, and returns when those that were taken are drained. */
  @Override
  public void close() {
    Set<RestoreTransfer> left;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      left = Set.copyOf(loads);
    }
    left.forEach(RestoreTransfer::awaitDrained);
    lane.close();
  }
}
