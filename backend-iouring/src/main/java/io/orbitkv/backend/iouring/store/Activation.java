package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Gives a segment a new generation: a new header, no summary, both durable. Until then no record of the new generation
 * is written, so a header that is lost in a crash loses nothing and one that arrives hides every older record.
 */
final class Activation extends Request {

  private enum Step {
    HEADER,
    SUMMARY,
    SYNC
  }

  private final long generation;
  private Arena arena;
  private Step step;

  Activation(Driver driver, Segment segment, long token) {
    super(driver, segment, token);
    this.generation = segment.generation();
  }

  @Override
  void begin() {
    segment.entries.clear();
    // A few pages once in a segment's life: not worth a pool.
    arena = Arena.ofShared();
    MemorySegment page = arena.allocate(Page.BYTES, Page.BYTES);
    SegmentHeader.encode(page, driver.superblock().id(), segment.index, generation, driver.checksum());
    step = Step.HEADER;
    driver.disk().write(this, page, driver.superblock().position(segment.index));
  }

  @Override
  void ended(StoreStatus status) {
    if (status != StoreStatus.OK) {
      driver.transferFailed(this, step.name(), status);
      fail(status);
      return;
    }
    switch (step) {
      case HEADER -> {
        step = Step.SUMMARY;
        driver.disk().write(this, arena.allocate(Page.BYTES, Page.BYTES),
            driver.superblock().position(segment.index + 1) - Page.BYTES);
      }
      case SUMMARY -> {
        step = Step.SYNC;
        driver.disk().sync(this);
      }
      case SYNC -> {
        arena.close();
        segment.on(SegmentPhase.Event.ACTIVATED);
        driver.complete(this, StoreStatus.OK);
      }
    }
  }

  @Override
  void fail(StoreStatus status) {
    if (arena != null) {
      arena.close();
    }
    segment.on(SegmentPhase.Event.ACTIVATION_FAILED);
    super.fail(status);
  }

  @Override
  public String toString() {
    return "activation of segment " + segment.index + " as generation " + generation;
  }
}
