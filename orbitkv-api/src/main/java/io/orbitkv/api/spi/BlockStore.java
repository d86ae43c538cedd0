package io.orbitkv.api.spi;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A durable, preallocated store of self-describing extents in segments. The store does the transfers and knows the
 * format; which extents live, which segment is reclaimed and when are the core's decisions.
 *
 * <p><b>Threads.</b> {@link #recover} and {@link #start} are called once, in this order, by the opener. All later
 * calls come from one thread at a time (the core) and never wait for the device. Completions are delivered by the
 * store's own threads to the {@link StoreListener}, each token exactly once, in any order. The memory of a transfer
 * belongs to the store from the call to its completion.
 *
 * <p><b>Order.</b> A segment goes {@link #activate activate} → {@link #append append}* → {@link #seal seal}, and may be
 * activated again, which ends everything it held. The core activates a segment only when no transfer of it is in
 * flight.
 */
public interface BlockStore extends AutoCloseable {

  /** The value of {@link #append} when the segment has no room left. */
  int FULL = -1;

  /** Returns the store's shape. */
  StoreGeometry geometry();

  /**
   * Reads what earlier runs left and hands over every extent that can be trusted so far: its header is intact, belongs
   * to this store, place and generation. Bytes may still fail their checksum when they are read.
   *
   * @param sink receives segments and extents, on this thread
   * @return what was found
   */
  RecoveryReport recover(RecoverySink sink);

  /**
   * Begins service.
   *
   * @param listener receives completions
   * @param memory the regions that records will lie in, for registration with the kernel; may be empty
   */
  void start(StoreListener listener, List<MemorySegment> memory);

  /**
   * Gives a segment a new generation and empties it. Complete when that is durable, so that no extent of an earlier
   * generation can come back.
   *
   * @param segment 0 to segments - 1
   * @param token for the completion
   */
  void activate(int segment, long token);

  /**
   * Appends an extent to an active segment.
   *
   * @param segment an activated, unsealed segment
   * @param header what the bytes are
   * @param record {@code geometry().recordBytes(header.payloadBytes())} bytes of aligned memory: room for the header,
   *     then the shards one behind another in rank order
   * @param token for the completion
   * @return the extent's offset in the segment in units of {@code geometry().alignment()}, or {@link #FULL}, in which
   *     case there will be no completion
   */
  int append(int segment, ExtentHeader header, MemorySegment record, long token);

  /**
   * Reads an extent and verifies its length, header and checksums.
   *
   * @param segment the segment
   * @param offset as {@link #append} or recovery gave it
   * @param expected namespace, group, key and shard shape that the extent must have; its checksums are ignored
   * @param record room for the whole record; what it holds is undefined unless the completion is {@link StoreStatus#OK}
   * @param token for the completion
   */
  void read(int segment, int offset, ExtentHeader expected, MemorySegment record, long token);

  /**
   * Returns what a record in memory says about itself.
   *
   * @param record a record that {@link #append} or a successful {@link #read} left there
   * @return its header, checksums included
   * @throws IllegalArgumentException if there is no header
   */
  ExtentHeader header(MemorySegment record);

  /**
   * Closes a segment for appending and writes its summary, from which a restart recovers it without a scan.
   *
   * @param segment an activated segment, or one that recovery found unsealed
   * @param token for the completion
   */
  void seal(int segment, long token);

  /** Hands all that was asked for since the last call to the device. Without it, requests may wait. */
  void submit();

  /**
   * Ends service: what was submitted is completed first. Unsealed segments are left for recovery. Idempotent. Completions
   * may be delivered until it returns.
   */
  @Override
  void close();
}
