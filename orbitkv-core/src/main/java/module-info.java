/** The cache itself: its state machines, the loop that owns them, and the embedded cache. */
module io.orbitkv.core {
  requires transitive io.orbitkv.api;

  exports io.orbitkv.core;
}
