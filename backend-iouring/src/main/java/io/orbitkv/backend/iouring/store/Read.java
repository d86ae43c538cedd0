package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.MemorySegment;

/** Reads a record and verifies that it is the one that was asked for and that its bytes are the ones that were written. */
final class Read extends Request {

  private final RecordHeader.Place place;
  private final ExtentHeader expected;
  private final MemorySegment record;

  Read(
      Driver driver,
      Segment segment,
      RecordHeader.Place place,
      ExtentHeader expected,
      MemorySegment record,
      long token) {
    super(driver, segment, token);
    this.place = place;
    this.expected = expected;
    this.record = record;
  }

  @Override
  void begin() {
    driver.disk().read(this, record, driver.superblock().position(segment.index, place.offset()));
  }

  @Override
  void ended(StoreStatus status) {
    StoreStatus verified = status;
    if (status == StoreStatus.OK) {
      verified = verify();
    } else {
      driver.transferFailed(this, "record", status);
    }
    driver.complete(this, verified);
  }

  private StoreStatus verify() {
    String wrong = RecordHeader.wrongPlace(record, place, driver.checksum());
    if (wrong == null) {
      wrong = RecordHeader.wrongExtent(record, expected);
    }
    if (wrong != null) {
      driver.faults().report(this + " found another header: " + wrong);
      return StoreStatus.MISMATCH;
    }
    long at = Page.BYTES;
    for (int shard = 0; shard < expected.shardCrcs().length; shard++) {
      if (driver.checksum().of(record, at, expected.shardBytes()) != RecordHeader.shardCrc(record, shard)) {
        driver.faults().report(this + " found wrong bytes in shard " + shard);
        return StoreStatus.CORRUPT;
      }
      at += expected.shardBytes();
    }
    return StoreStatus.OK;
  }

  @Override
  public String toString() {
    return "read of " + expected + " from segment " + segment.index + " offset " + place.offset();
  }
}
