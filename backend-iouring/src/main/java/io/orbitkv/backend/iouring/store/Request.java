package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;

/**
 * One request of the core, from the call to its completion. It is made by the core's thread and given to the driver
 * once; every field but the final ones is the driver's from then on. One such object per request is allocated: it lives
 * as long as a transfer to a disk takes, and a pool would have to be shared by two threads.
 */
abstract sealed class Request extends DiskTransfer permits Activation, Append, Read, Seal {

  final Driver driver;
  final Segment segment;
  final long token;

  /** Links requests on their way to the driver. */
  Request following;

  // The driver's list of what is not complete.
  Request before;
  Request after;

  Request(Driver driver, Segment segment, long token) {
    this.driver = driver;
    this.segment = segment;
    this.token = token;
  }

  /** Asks for the first transfer. */
  abstract void begin();

  /** Returns whether the file has memory of this request. */
  boolean hasMemoryInFlight() {
    return inFlight();
  }

  /** Completes without success, whatever was reached. Nothing of it may be in flight. */
  void fail(StoreStatus status) {
    driver.complete(this, status);
  }
}
