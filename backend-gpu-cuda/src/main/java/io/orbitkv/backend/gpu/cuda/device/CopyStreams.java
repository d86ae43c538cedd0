package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.backend.gpu.cuda.driver.CopyList;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The streams of one direction. To its user they are one: copies are spread over them and come together again in the
 * first. Used by one thread at a time.
 */
final class CopyStreams implements AutoCloseable {

  /** Fewer copies than this are not worth another stream. */
  private static final int COPIES_A_STREAM = 8;

  private final Gpu gpu;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment streams;
  private final int count;
  private final long[] events;

  CopyStreams(Gpu gpu, int count, boolean urgent) {
    this.gpu = gpu;
    this.count = count;
    this.streams = arena.allocate(ValueLayout.JAVA_LONG, count);
    this.events = new long[count];
    for (int i = 0; i < count; i++) {
      streams.setAtIndex(ValueLayout.JAVA_LONG, i, gpu.stream(urgent));
      events[i] = gpu.event();
    }
  }

  private long stream(int index) {
    return streams.getAtIndex(ValueLayout.JAVA_LONG, index);
  }

  /** Returns the first stream, for what is not spread. */
  long first() {
    return stream(0);
  }

  /** Returns the streams as the driver takes them. */
  MemorySegment array() {
    return streams;
  }

  void follow(long event) {
    gpu.follow(first(), event);
  }

  void record(long event) {
    gpu.record(event, first());
  }

  void write(long address, int value) {
    gpu.write(first(), address, value);
  }

  /** Enqueues copies. If it throws, what was enqueued is still before the next record. */
  void copy(CopyList copies, boolean toDevice) {
    // Strided copies gain nothing from a second stream.
    int used = Math.clamp(Math.ceilDiv(copies.single(), COPIES_A_STREAM), 1, count);
    if (used > 1) {
      record(events[0]);
      for (int i = 1; i < used; i++) {
        gpu.follow(stream(i), events[0]);
      }
    }
    try {
      gpu.copy(streams, used, copies, toDevice);
    } finally {
      for (int i = 1; i < used; i++) {
        gpu.record(events[i], stream(i));
        follow(events[i]);
      }
    }
  }

  @Override
  public void close() {
    for (int i = 0; i < count; i++) {
      gpu.endStream(stream(i));
      gpu.endEvent(events[i]);
    }
    arena.close();
  }
}
