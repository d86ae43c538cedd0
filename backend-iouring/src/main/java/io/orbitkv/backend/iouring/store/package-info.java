/**
 * The durable store: the format of its one file, the folder around it, placement of extents in segments, the driver
 * that moves and verifies them, and recovery. The format is described byte by byte in {@code docs/store-format.md}.
 *
 * <p>Three owners share the work. The opener's thread reads and repairs ({@link
 * io.orbitkv.backend.iouring.store.StoreFolder}, {@link io.orbitkv.backend.iouring.store.Recovery}). The core's thread
 * places extents ({@link io.orbitkv.backend.iouring.store.SegmentStore}). The thread {@code orbitkv-store} does every
 * transfer ({@link io.orbitkv.backend.iouring.store.Driver}).
 *
 * <p>Owns: the store's format and its recovery. Must not touch: native code, and the choice of which extents live.
 */
package io.orbitkv.backend.iouring.store;
