package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Closes a segment: waits for its writes, makes them durable, then writes the summary and makes that durable. In this
 * order a summary that is found intact vouches for every record it lists.
 */
final class Seal extends Request {

  private enum Step {
    RECORDS_SYNC,
    SUMMARY,
    SUMMARY_SYNC
  }

  private Arena arena;
  private Step step;

  Seal(Driver driver, Segment segment, long token) {
    super(driver, segment, token);
  }

  @Override
  void begin() {
    if (segment.writesInFlight > 0) {
      segment.waitingSeal = this;
    } else {
      writesEnded();
    }
  }

  void writesEnded() {
    step = Step.RECORDS_SYNC;
    driver.disk().sync(this);
  }

  @Override
  void ended(StoreStatus status) {
    if (status != StoreStatus.OK) {
      driver.transferFailed(this, step.name(), status);
      fail(status);
      return;
    }
    switch (step) {
      case RECORDS_SYNC -> {
        step = Step.SUMMARY;
        writeSummary();
      }
      case SUMMARY -> {
        step = Step.SUMMARY_SYNC;
        driver.disk().sync(this);
      }
      case SUMMARY_SYNC -> {
        arena.close();
        segment.entries.clear();
        segment.on(SegmentPhase.Event.SEALED);
        driver.complete(this, StoreStatus.OK);
      }
    }
  }

  private void writeSummary() {
    long bytes = Summary.bytes(segment.entries.count());
    arena = Arena.ofShared();
    MemorySegment summary = arena.allocate(bytes, Page.BYTES);
    Summary.encode(
        summary, driver.superblock().id(), segment.index, segment.generation(), segment.entries, driver.checksum());
    driver.disk().write(this, summary, driver.superblock().position(segment.index + 1) - bytes);
  }

  @Override
  void fail(StoreStatus status) {
    if (arena != null) {
      arena.close();
    }
    segment.on(SegmentPhase.Event.SEAL_FAILED);
    super.fail(status);
  }

  @Override
  public String toString() {
    return "seal of segment " + segment.index;
  }
}
