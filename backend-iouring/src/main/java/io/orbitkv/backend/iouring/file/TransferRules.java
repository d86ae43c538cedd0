package io.orbitkv.backend.iouring.file;

import java.lang.foreign.MemorySegment;

/** What every transfer of a {@link StoreFile} must keep to, whatever drives it: the rules of {@code O_DIRECT}. */
public final class TransferRules {

  /** Addresses, positions and lengths are multiples of this many bytes. */
  public static final int ALIGNMENT = 4096;

  /** Most bytes of one transfer: results are 32 bits wide, and the kernel ends a transfer short of 2 GiB. */
  public static final int MAX_BYTES = 1 << 30;

  private TransferRules() {}

  /**
   * Checks a transfer.
   *
   * @param memory what is read into or written from
   * @param position its place in the file, in bytes
   * @throws IllegalArgumentException if it breaks a rule; the message has the value
   */
  public static void check(MemorySegment memory, long position) {
    if (!memory.isNative()) {
      throw new IllegalArgumentException("memory of a transfer lies in the heap, expected native memory");
    }
    long bytes = memory.byteSize();
    if (bytes < 1 || bytes > MAX_BYTES || bytes % ALIGNMENT != 0) {
      throw new IllegalArgumentException(
          "a transfer of " + bytes + " bytes, expected a multiple of " + ALIGNMENT + " up to " + MAX_BYTES);
    }
    if (memory.address() % ALIGNMENT != 0) {
      throw new IllegalArgumentException(
          "a transfer at address 0x" + Long.toHexString(memory.address()) + ", expected a multiple of " + ALIGNMENT);
    }
    if (position < 0 || position % ALIGNMENT != 0) {
      throw new IllegalArgumentException(
          "a transfer at position " + position + ", expected a multiple of " + ALIGNMENT + ", zero or more");
    }
  }
}
