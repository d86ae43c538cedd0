package io.orbitkv.api.spi;

/**
 * The fixed shape of an open store: a row of equal segments, each filled front to back and freed as a whole.
 *
 * @param segments how many segments there are
 * @param segmentBytes bytes of one segment, its bookkeeping included
 * @param headerBytes bytes of an extent's header. A record in memory is {@code headerBytes} of room that the store
 *     fills, then the payload, so that header and payload move in one transfer
 * @param alignment alignment of record addresses, offsets and lengths in bytes, a power of two
 * @param maxPayloadBytes the largest payload of one extent
 */
public record StoreGeometry(int segments, long segmentBytes, int headerBytes, int alignment, long maxPayloadBytes) {

  /** Returns the bytes that an extent of a payload takes in memory and on disk. */
  public long recordBytes(long payloadBytes) {
    return (headerBytes + payloadBytes + alignment - 1) & -alignment;
  }
}
