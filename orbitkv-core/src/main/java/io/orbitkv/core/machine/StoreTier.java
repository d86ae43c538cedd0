package io.orbitkv.core.machine;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.lifecycle.ExtentState;
import java.util.function.Consumer;

/**
 * The SSD tier as the rest of the core sees it. Its parts own one thing each: {@link Extents} which block lies where,
 * {@link StoreReads} and {@link StoreWrites} the transfers, {@link Segments} which segment takes extents and which are
 * free, {@link Emptying} how they become free, {@link DeviceTrust} how far the device is used.
 */
final class StoreTier {

  /** What the tier reports to the rest of the core. */
  interface Listener {
    /** A read ended well; the row's bytes in memory are complete. */
    void loaded(int row);

    /** A read failed; the row's extent in memory is still taken. */
    void loadFailed(int row);
  }

  private final Blocks blocks;
  private final BlockTable table;
  private final BlockStore store;
  private final StoreRequests requests = new StoreRequests();
  private final DeviceTrust trust;
  private final Segments segments;
  private final Extents extents;
  private final StoreReads reads;
  private final StoreWrites writes;
  private final Emptying emptying;

  /**
   * @param store the store, or null for a cache without one
   */
  StoreTier(Blocks blocks, MemoryTier memory, BlockStore store, int maxWrites, Counters counters, Listener listener) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.store = store;
    this.trust = new DeviceTrust(store == null ? StoreHealth.NONE : StoreHealth.HEALTHY, counters, this::stopWriting);
    this.segments = new Segments(store, table, requests);
    this.extents = new Extents(blocks, segments, requests);
    this.reads = new StoreReads(blocks, memory, store, requests, segments, extents, trust, listener);
    this.writes = new StoreWrites(blocks, memory, segments, extents, reads, trust, counters, maxWrites);
    this.emptying = new Emptying(blocks, memory, store, requests, segments, extents, trust, counters);
  }

  private void stopWriting() {
    writes.giveUp();
    emptying.giveUp();
  }

  StoreHealth health() {
    return trust.health();
  }

  Segments segments() {
    return segments;
  }

  Extents extents() {
    return extents;
  }

  /** Returns whether a query may count on the row's extent. */
  boolean isReadable(int row) {
    return table.isCommitted(row) && trust.health() != StoreHealth.OFF;
  }

  /** Returns whether no block waits to be written and no write is under way. */
  boolean isWritten() {
    return writes.waiting() == 0 && writes.underWay() == 0;
  }

  /** Returns how many extents were carried over to another segment. */
  long carried() {
    return emptying.carried();
  }

  /** Visits every request in flight, and the carries that wait for a segment. */
  void forEachRequest(Consumer<StoreRequest> action) {
    requests.forEach(action);
  }

  /** Returns how many requests the store has not completed. */
  int inFlight() {
    return requests.size();
  }

  // ---- what the rest of the core asks for

  /** The store is in service: closes the segments that recovery found half filled. */
  void started() {
    segments.sealRecovered();
  }

  /** Reads a committed row's extent into memory that the row was given for it. */
  void read(int row) {
    reads.read(row);
  }

  /** Nobody can see the row's block any more: a read under way keeps the extent in memory until it ends. */
  void detachRead(int row) {
    reads.detach(row);
  }

  /** Wants a resident row on the SSD. */
  void enqueue(int row) {
    writes.enqueue(row);
  }

  /** A row left memory: if it was not written by now it never will be. */
  void leftMemory(int row) {
    if (blocks.scopeOf(row).layout().ranks() > 1) {
      table.shardCrcs(row, null);
    }
    writes.leftMemory(row);
  }

  /** Gives up what a row has on the SSD or wants there, and all that depends on it: its block was dropped. */
  void drop(int row) {
    switch (table.extent(row)) {
      case ABSENT -> { }
      case DIRTY -> writes.forget(row);
      case WRITING, COMMITTED -> extents.dropTree(row, ExtentState.Event.RECLAIM);
    }
  }

  /** Closes the segments that take extents, so that the next start need not scan them. */
  void seal() {
    segments.seal();
  }

  // ---- going on

  /** Does what can be done now: empties segments, opens them, and submits writes. Called after every event. */
  void pump() {
    if (store == null) {
      return;
    }
    if (trust.takesWrites()) {
      // A segment with nothing to carry over is empty at once, and one may not be enough.
      do {
        if (writes.waiting() > 0) {
          emptying.begin();
        }
        emptying.carryOver();
      } while (emptying.end());
      writes.submit();
      segments.activateAhead();
    }
    if (requests.takeUnsubmitted()) {
      store.submit();
    }
  }

  /** Ends a request. */
  void completed(long token, StoreStatus status) {
    switch (requests.remove(token)) {
      case StoreRequest.Activate activate -> {
        segments.activated(activate.segment(), status);
        if (status != StoreStatus.OK) {
          trust.writeFailed(status);
        }
      }
      case StoreRequest.Seal seal -> segments.sealed(seal.segment(), status);
      case StoreRequest.Read read -> reads.ended(read, status);
      case StoreRequest.Write write -> writes.ended(write, status);
      case StoreRequest.Carry carry -> emptying.ended(carry, status);
    }
  }

  @Override
  public String toString() {
    return "store tier " + trust.health() + ", " + writes.waiting() + " dirty, " + writes.underWay() + " writes, "
        + reads.underWay() + " reads, " + emptying.carries() + " carries, segments: " + segments;
  }
}
