package io.orbitkv.backend.iouring.file;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * An open file of fixed size with asynchronous positional transfers. Used by one thread, its driver, except for {@link
 * #wake}. Addresses, positions and lengths are multiples of 4,096 bytes.
 *
 * <p>A completion carries what the system said: bytes transferred, possibly fewer than asked for, or a negated errno.
 * Making short transfers whole is the driver's work, above this interface, so that it is done and tested once.
 */
public interface StoreFile extends AutoCloseable {

  /** Receives completions in {@link #poll}. */
  @FunctionalInterface
  interface Completions {
    /**
     * Ends a request.
     *
     * @param token as given with it
     * @param result bytes transferred (0 for a sync), or a negated errno
     */
    void completed(long token, int result);
  }

  /** Returns how many requests may be between call and completion at once. */
  int depth();

  /**
   * Makes memory known to the kernel, so that transfers in it need no mapping each. May be called once, before any
   * transfer.
   *
   * @param regions where records will lie
   * @return what came of it, in words, for a log line: registration is an optimisation that limits may forbid
   */
  String register(List<MemorySegment> regions);

  /** Queues a read of {@code target.byteSize()} bytes. */
  void read(long token, MemorySegment target, long position);

  /** Queues a write of {@code source.byteSize()} bytes. */
  void write(long token, MemorySegment source, long position);

  /** Queues a wait for the durability of all writes that completed before. */
  void sync(long token);

  /**
   * Submits what is queued and hands over completions.
   *
   * @param completions receives them
   * @param wait whether to wait until there is at least one completion or a {@link #wake}
   * @return how many were handed over
   */
  int poll(Completions completions, boolean wait);

  /** Ends the driver's wait in {@link #poll}, now or the next one. From any thread. */
  void wake();

  /** Closes the file. Requests in flight are completed or proven ended before it returns. */
  @Override
  void close();
}
