package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.MemorySegment;

/** Writes a record, header and payload in one transfer. */
final class Append extends Request {

  private final RecordHeader.Place place;
  private final ExtentHeader extent;
  private final MemorySegment record;

  Append(
      Driver driver,
      Segment segment,
      RecordHeader.Place place,
      ExtentHeader extent,
      MemorySegment record,
      long token) {
    super(driver, segment, token);
    this.place = place;
    this.extent = extent;
    this.record = record;
  }

  @Override
  void begin() {
    RecordHeader.encode(record, place, extent, driver.checksum());
    // The rest of the last page goes to the disk too: it must not carry what lay there before.
    record.asSlice(Page.BYTES + extent.payloadBytes()).fill((byte) 0);
    segment.writesInFlight++;
    driver.disk().write(this, record, driver.superblock().position(segment.index, place.offset()));
  }

  @Override
  void ended(StoreStatus status) {
    segment.writesInFlight--;
    if (status == StoreStatus.OK) {
      segment.entries.add(place.offset(), extent, extent.shardCrcs().length);
    } else {
      driver.transferFailed(this, "record", status);
    }
    driver.complete(this, status);
    if (segment.writesInFlight == 0 && segment.waitingSeal != null) {
      Seal seal = segment.waitingSeal;
      segment.waitingSeal = null;
      seal.writesEnded();
    }
  }

  @Override
  public String toString() {
    return "append of " + extent + " to segment " + segment.index + " offset " + place.offset();
  }
}
