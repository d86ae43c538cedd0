package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Gives a segment a new generation: a new header, no summary, both durable. Until then no record of the new generation
 * is written, so a header that is lost in a crash loses nothing and one that arrives hides every older record.
 */
final class Activation extends Request {

  private final long generation;
  private final PageWrite header = new PageWrite();
  private final PageWrite summary = new PageWrite();
  private Arena arena;
  private int writesLeft = 2;
  private StoreStatus writes = StoreStatus.OK;

  Activation(Driver driver, Segment segment, long token) {
    super(driver, segment, token);
    this.generation = segment.generation();
  }

  /** One of the two pages; both are under way at once, since a busy disk takes its time for either. */
  private final class PageWrite extends DiskTransfer {
    @Override
    void ended(StoreStatus status) {
      if (status != StoreStatus.OK) {
        writes = status;
      }
      if (--writesLeft == 0) {
        writesEnded();
      }
    }
  }

  @Override
  void begin() {
    segment.entries.clear();
    // Two pages once in a segment's life: not worth a pool.
    arena = Arena.ofShared();
    MemorySegment headerPage = arena.allocate(Page.BYTES, Page.BYTES);
    SegmentHeader.encode(headerPage, driver.superblock().id(), segment.index, generation, driver.checksum());
    MemorySegment zeroPage = arena.allocate(Page.BYTES, Page.BYTES);
    driver.disk().write(header, headerPage, driver.superblock().position(segment.index));
    driver.disk().write(summary, zeroPage, driver.superblock().position(segment.index + 1) - Page.BYTES);
  }

  private void writesEnded() {
    if (writes == StoreStatus.OK) {
      driver.disk().sync(this);
    } else {
      driver.transferFailed(this, "header", writes);
      fail(writes);
    }
  }

  @Override
  void ended(StoreStatus status) {
    if (status == StoreStatus.OK) {
      arena.close();
      segment.on(SegmentPhase.Event.ACTIVATED);
      driver.complete(this, StoreStatus.OK);
    } else {
      driver.transferFailed(this, "sync", status);
      fail(status);
    }
  }

  @Override
  boolean hasMemoryInFlight() {
    return header.inFlight() || summary.inFlight();
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
