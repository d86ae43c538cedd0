package io.orbitkv.core.machine;

/** How far the SSD is trusted. It only gets worse while a cache is open. */
enum StoreHealth {
  /** There is no SSD tier. */
  NONE("none"),
  /** Reads and writes. */
  HEALTHY("healthy"),
  /** The device refused writes: what is there is still read. */
  READ_ONLY("read-only"),
  /** The device fails reads too: nothing of it is used. */
  OFF("off");

  private final String label;

  StoreHealth(String label) {
    this.label = label;
  }

  String label() {
    return label;
  }
}
