package io.orbitkv.core.machine;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.RowList;
import io.orbitkv.core.lifecycle.SegmentState;
import java.lang.foreign.MemorySegment;

/**
 * The lives of the segments: which one takes extents, which one is next, and which are free. The last free one is kept
 * for carrying over, or extents in use would be given up with the others.
 */
final class Segments {

  private final BlockStore store;
  private final StoreRequests requests;
  private final Segment[] all;
  /** Takes extents at present. */
  private Segment open;
  /** Takes over when that one is full: nobody waits for an activation then. */
  private Segment next;
  private Segment activating;
  private long ages;
  private int free;

  /**
   * @param store the store, or null for a cache without one
   */
  Segments(BlockStore store, BlockTable table, StoreRequests requests) {
    this.store = store;
    this.requests = requests;
    this.all = new Segment[store == null ? 0 : store.geometry().segments()];
    for (int i = 0; i < all.length; i++) {
      all[i] = new Segment(i, new RowList(table));
    }
    this.free = all.length;
  }

  Segment[] all() {
    return all;
  }

  /** Returns the segment that a place is in. */
  Segment at(long place) {
    return all[Place.segment(place)];
  }

  /** Returns the segment that takes extents, or null. */
  Segment open() {
    return open;
  }

  long capacityBytes() {
    return store == null ? 0 : all.length * store.geometry().segmentBytes();
  }

  // ---- recovery

  /** Takes over a segment that an earlier run left. */
  void recovered(int index, long age, boolean sealed) {
    Segment segment = all[index];
    free--;
    segment.age = age;
    ages = Math.max(ages, age);
    segment.on(sealed ? SegmentState.Event.SEALED : SegmentState.Event.SEAL);
  }

  /** Closes the segments that recovery found half filled; the store is in service now. */
  void sealRecovered() {
    for (Segment segment : all) {
      if (segment.state == SegmentState.SEALING) {
        store.seal(segment.index, requests.add(new StoreRequest.Seal(segment)));
      }
    }
  }

  // ---- taking extents

  /** Returns whether a segment takes extents now; if none does, one is activated. */
  boolean ensureOpen(boolean forCarrying) {
    if (open != null) {
      return true;
    }
    boolean last = free <= 1 && !forCarrying && hasVictim();
    if (activating == null && free > 0 && !last) {
      activate();
    }
    return false;
  }

  /**
   * Returns whether there is, or will be, an open segment. There is none if a process died while it carried over into
   * the last free segment; then this one is emptied without carrying.
   */
  boolean canOpen() {
    return open != null || activating != null || free > 0;
  }

  private boolean hasVictim() {
    for (Segment segment : all) {
      if (segment.state == SegmentState.SEALED
          || segment.state == SegmentState.SEALING
          || segment.state == SegmentState.RECLAIMING) {
        return true;
      }
    }
    return false;
  }

  /**
   * Activates the segment after the open one when that is half full: later it might not be ready in time, earlier it
   * would be one more to scan after a crash.
   */
  void activateAhead() {
    if (open != null && open.filledBytes >= store.geometry().segmentBytes() / 2
        && next == null && activating == null && free > 1) {
      activate();
    }
  }

  private void activate() {
    for (Segment segment : all) {
      if (segment.state == SegmentState.FREE) {
        segment.on(SegmentState.Event.ACTIVATE);
        segment.age = ++ages;
        segment.filledBytes = 0;
        free--;
        activating = segment;
        store.activate(segment.index, requests.add(new StoreRequest.Activate(segment)));
        return;
      }
    }
  }

  /** An activation ended. */
  void activated(Segment segment, StoreStatus status) {
    activating = null;
    if (status != StoreStatus.OK) {
      segment.on(SegmentState.Event.FAIL);
      return;
    }
    segment.on(SegmentState.Event.ACTIVATED);
    if (open == null) {
      open = segment;
    } else {
      next = segment;
    }
  }

  /**
   * Appends an extent to the open segment. One without room for it is closed.
   *
   * @return the offset, or {@link BlockStore#FULL}
   */
  int append(ExtentHeader header, MemorySegment record, StoreRequest request) {
    long token = requests.add(request);
    int offset = store.append(open.index, header, record, token);
    if (offset == BlockStore.FULL) {
      requests.remove(token);
      sealOpen();
    } else {
      open.filledBytes = (long) offset * store.geometry().alignment() + record.byteSize();
      open.inFlight++;
    }
    return offset;
  }

  /** Closes the segments that take extents, so that the next start need not scan them. */
  void seal() {
    while (open != null) {
      sealOpen();
    }
  }

  /** Closes the open segment; the one after it, if it is ready, takes over. */
  private void sealOpen() {
    open.on(SegmentState.Event.SEAL);
    store.seal(open.index, requests.add(new StoreRequest.Seal(open)));
    open = next;
    next = null;
  }

  /** A summary is written, or cannot be. */
  void sealed(Segment segment, StoreStatus status) {
    segment.on(status == StoreStatus.OK ? SegmentState.Event.SEALED : SegmentState.Event.FAIL);
  }

  // ---- becoming free

  /** Returns whether there is a free segment besides the one that is kept for carrying over. */
  boolean hasSpare() {
    // One that was activated ahead is as good as free, and there is another besides.
    boolean ahead = open != null && (next != null || activating != null);
    return free > 1 || ahead;
  }

  /** Nothing in a segment is live or in flight. */
  void emptied(Segment segment) {
    segment.on(SegmentState.Event.EMPTIED);
    free++;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(free + " free");
    for (Segment segment : all) {
      text.append(", ").append(segment.state).append(segment == open ? "* " : segment == next ? "+ " : " ")
          .append(segment.liveBytes);
    }
    return text.toString();
  }
}
