package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.ByteSize;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Bounds how many bytes go by in a second. Used by one thread. */
final class Pace {

  private static final double NANOS = 1e9;

  private final double nanosAByte;
  private long next = System.nanoTime();

  Pace(Optional<ByteSize> bytesASecond) {
    this.nanosAByte = bytesASecond.map(rate -> NANOS / rate.bytes()).orElse(0.0);
  }

  /** Waits until so many bytes may go. */
  void take(long bytes) {
    if (nanosAByte == 0) {
      return;
    }
    while (next - System.nanoTime() > 0) {
      LockSupport.parkNanos(next - System.nanoTime());
    }
    next = System.nanoTime() + (long) (bytes * nanosAByte);
  }
}
