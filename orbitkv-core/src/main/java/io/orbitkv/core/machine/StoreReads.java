package io.orbitkv.core.machine;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ExtentState;

/** Blocks on their way from the SSD into memory. */
final class StoreReads {

  private final Blocks blocks;
  private final BlockTable table;
  private final MemoryTier memory;
  private final BlockStore store;
  private final StoreRequests requests;
  private final Segments segments;
  private final Extents extents;
  private final DeviceTrust trust;
  private final StoreTier.Listener listener;
  private int underWay;

  StoreReads(Blocks blocks, MemoryTier memory, BlockStore store, StoreRequests requests, Segments segments,
      Extents extents, DeviceTrust trust, StoreTier.Listener listener) {
    this.blocks = blocks;
    this.table = blocks.table();
    this.memory = memory;
    this.store = store;
    this.requests = requests;
    this.segments = segments;
    this.extents = extents;
    this.trust = trust;
    this.listener = listener;
  }

  int underWay() {
    return underWay;
  }

  /** Reads a committed row's extent into memory that the row was given for it. */
  void read(int row) {
    Scope scope = blocks.scopeOf(row);
    long place = table.storeAt(row);
    Segment segment = segments.at(place);
    StoreRequest.Read read = new StoreRequest.Read(row, segment, place, table.memoryAt(row));
    segment.inFlight++;
    underWay++;
    store.read(segment.index, Place.offset(place), extents.expectedHeader(row), memory.record(scope, read.memoryAt),
        requests.add(read));
  }

  /** Nobody can see the row's block any more: a read under way keeps the extent in memory until it ends. */
  void detach(int row) {
    requests.forEach(request -> {
      if (request instanceof StoreRequest.Read read && read.row == row) {
        read.detach();
      }
    });
  }

  void ended(StoreRequest.Read read, StoreStatus status) {
    underWay--;
    read.segment.inFlight--;
    int row = read.row;
    if (row == BlockTable.NONE) {
      memory.free(read.memoryAt);
      trust.readEnded(status);
      return;
    }
    if (status == StoreStatus.OK) {
      trust.readSucceeded();
      Scope scope = blocks.scopeOf(row);
      table.shardCrcs(row, store.header(memory.record(scope, read.memoryAt)).shardCrcs());
      listener.loaded(row);
      return;
    }
    trust.readEnded(status);
    // Before its extent goes: dropping what is in memory must not free the row.
    memory.hold(row);
    if (table.storeAt(row) == read.place && status != StoreStatus.CLOSED) {
      extents.dropTree(row, ExtentState.Event.INVALIDATE);
    }
    listener.loadFailed(row);
    memory.free(read.memoryAt);
    memory.release(row);
    blocks.releaseUnused(row);
  }
}
