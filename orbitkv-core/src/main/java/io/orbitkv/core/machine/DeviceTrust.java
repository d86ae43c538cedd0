package io.orbitkv.core.machine;

import io.orbitkv.api.spi.StoreStatus;

/** How far the device is trusted, from how its requests end. */
final class DeviceTrust {

  private static final int WRITE_ERRORS_TO_READ_ONLY = 3;
  private static final int READ_ERRORS_TO_OFF = 8;

  private final Counters counters;
  private final Runnable onWorse;
  private StoreHealth health;
  /** In a row. */
  private int writeErrors;
  /** In a row. */
  private int readErrors;

  /**
   * @param onWorse told when nothing is written any more
   */
  DeviceTrust(StoreHealth health, Counters counters, Runnable onWorse) {
    this.health = health;
    this.counters = counters;
    this.onWorse = onWorse;
  }

  StoreHealth health() {
    return health;
  }

  boolean takesWrites() {
    return health == StoreHealth.HEALTHY;
  }

  void readSucceeded() {
    readErrors = 0;
  }

  /** A read ended, well or not, and its bytes are of no use to anybody. */
  void readEnded(StoreStatus status) {
    switch (status) {
      case CORRUPT -> counters.fault(Fault.SSD_READ_CORRUPT);
      case MISMATCH -> counters.fault(Fault.SSD_READ_MISMATCH);
      case IO_ERROR, NO_SPACE, READ_ONLY -> {
        counters.fault(Fault.SSD_READ_ERROR);
        if (++readErrors >= READ_ERRORS_TO_OFF) {
          worsen(StoreHealth.OFF);
        }
      }
      case OK, CLOSED -> { }
    }
  }

  void writeSucceeded() {
    writeErrors = 0;
  }

  void writeFailed(StoreStatus status) {
    if (status == StoreStatus.CLOSED) {
      return;
    }
    counters.fault(Fault.SSD_WRITE_ERROR);
    if (status == StoreStatus.NO_SPACE
        || status == StoreStatus.READ_ONLY
        || ++writeErrors >= WRITE_ERRORS_TO_READ_ONLY) {
      worsen(StoreHealth.READ_ONLY);
    }
  }

  private void worsen(StoreHealth to) {
    if (health.compareTo(to) < 0) {
      health = to;
      onWorse.run();
    }
  }
}
