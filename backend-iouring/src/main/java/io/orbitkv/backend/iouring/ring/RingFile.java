package io.orbitkv.backend.iouring.ring;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.iouring.file.Errno;
import io.orbitkv.backend.iouring.file.StoreFile;
import io.orbitkv.backend.iouring.file.TransferRules;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A file driven through a ring of its own. A {@link #poll} is one native call and one system call, however many
 * requests it submits and completions it collects.
 *
 * <p>The driver must be a platform thread: a ring belongs to one thread of the system.
 */
final class RingFile implements StoreFile {

  /**
   * Where the driver is. A waker makes the system call only for a driver that may be asleep; whoever finds another
   * state only leaves word.
   */
  private enum DriverState {
    AWAKE,
    ASLEEP,
    WOKEN,
    CLOSED
  }

  private final Path path;
  private final int depth;
  private final long ring;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment requests;
  private final MemorySegment completed;

  // One slot a request in flight. It has the token, which may be any number, and keeps the memory reachable.
  private final long[] tokens;
  private final MemorySegment[] memory;
  private final int[] freeSlots;
  private int free;

  private FixedBuffers buffers = FixedBuffers.NONE;
  private Thread driver;
  private int queued;
  private int reaped;
  private int delivered;
  private boolean failed; // what the kernel has of the queued requests is not known

  private final AtomicReference<DriverState> driverState = new AtomicReference<>(DriverState.AWAKE);
  private final Object waking = new Object();
  private boolean wakeable = true; // guarded by waking

  RingFile(Path path, int depth, long ring) {
    this.path = path;
    this.depth = depth;
    this.ring = ring;
    requests = arena.allocate((long) depth * Uring.REQUEST_BYTES, Long.BYTES);
    completed = arena.allocate((long) depth * Uring.COMPLETION_BYTES, Long.BYTES);
    tokens = new long[depth];
    memory = new MemorySegment[depth];
    freeSlots = new int[depth];
    for (int slot = 0; slot < depth; slot++) {
      release(slot);
    }
  }

  @Override
  public int depth() {
    return depth;
  }

  @Override
  public String register(List<MemorySegment> regions) {
    checkOpen();
    if (driver != null || queued > 0 || buffers.count() > 0) {
      throw new IllegalStateException("register() comes once and before any transfer of " + path);
    }
    FixedBuffers wanted = FixedBuffers.of(regions);
    if (wanted.count() == 0) {
      return "nothing to register";
    }
    if (wanted.count() > FixedBuffers.MAX_COUNT) {
      return "not registered: " + wanted.count() + " pieces of memory, the kernel takes " + FixedBuffers.MAX_COUNT;
    }
    int result;
    try (Arena call = Arena.ofConfined()) {
      result = Uring.register(ring, wanted.table(call).address(), wanted.count());
    }
    if (result < 0) {
      return RingRefusal.ofRegistration(-result, wanted.bytes(), KernelSettings.read());
    }
    buffers = wanted;
    return "registered " + wanted.bytes() + " bytes in " + wanted.count() + " pieces";
  }

  @Override
  public void read(long token, MemorySegment target, long position) {
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("the target of a read is read-only");
    }
    transfer(Uring.OPERATION_READ, token, target, position);
  }

  @Override
  public void write(long token, MemorySegment source, long position) {
    transfer(Uring.OPERATION_WRITE, token, source, position);
  }

  private void transfer(int operation, long token, MemorySegment segment, long position) {
    TransferRules.check(segment, position);
    long request = add(operation, token, segment);
    requests.set(ValueLayout.JAVA_LONG, request + Uring.REQUEST_ADDRESS, segment.address());
    requests.set(ValueLayout.JAVA_LONG, request + Uring.REQUEST_POSITION, position);
    requests.set(ValueLayout.JAVA_INT, request + Uring.REQUEST_LENGTH, (int) segment.byteSize());
    requests.set(ValueLayout.JAVA_INT, request + Uring.REQUEST_BUFFER, buffers.indexOf(segment));
  }

  @Override
  public void sync(long token) {
    add(Uring.OPERATION_SYNC, token, MemorySegment.NULL);
  }

  /** Takes a slot and returns where in {@link #requests} the rest of the request belongs. */
  private long add(int operation, long token, MemorySegment segment) {
    if (free == 0) {
      throw new IllegalStateException("more than depth=" + depth + " requests in flight on " + path);
    }
    int slot = freeSlots[--free];
    tokens[slot] = token;
    memory[slot] = segment;
    long request = (long) queued++ * Uring.REQUEST_BYTES;
    requests.set(ValueLayout.JAVA_INT, request + Uring.REQUEST_SLOT, slot);
    requests.set(ValueLayout.JAVA_INT, request + Uring.REQUEST_OPERATION, operation);
    return request;
  }

  private void release(int slot) {
    memory[slot] = null;
    freeSlots[free++] = slot;
  }

  @Override
  public int poll(Completions completions, boolean wait) {
    checkOpen();
    checkDriver();
    // More are left only if the receiver threw: they are its, before any others.
    if (delivered == reaped && (wait || free < depth)) {
      reap(wait);
    }
    int count = reaped - delivered;
    while (delivered < reaped) {
      long completion = (long) delivered++ * Uring.COMPLETION_BYTES;
      int slot = completed.get(ValueLayout.JAVA_INT, completion + Uring.COMPLETION_SLOT);
      int result = completed.get(ValueLayout.JAVA_INT, completion + Uring.COMPLETION_RESULT);
      long token = tokens[slot];
      release(slot);
      completions.completed(token, result);
    }
    return count;
  }

  private void reap(boolean wait) {
    // Fails only if there was a wake, which is then what this poll waited for.
    boolean sleep = wait && driverState.compareAndSet(DriverState.AWAKE, DriverState.ASLEEP);
    int result = failed ? -Errno.EIO.number() : cycle(queued, sleep);
    if (wait) {
      // A waker that saw ASLEEP may signal after this; then one later wait ends early, which harms nobody.
      driverState.getAndSet(DriverState.AWAKE);
    }
    if (result < 0) {
      failed = true;
      throw new UnavailableException(
          "io_uring failed with " + Errno.describe(-result) + " on " + path + "; the store works again after a restart");
    }
    queued = 0;
    delivered = 0;
    reaped = result;
  }

  private int cycle(int count, boolean wait) {
    return Uring.cycle(ring, requests.address(), count, wait, completed.address());
  }

  private void checkDriver() {
    Thread current = Thread.currentThread();
    if (driver == current) {
      return;
    }
    if (driver != null) {
      throw new IllegalStateException(
          path + " is driven by thread " + driver.getName() + ", now also by " + current.getName());
    }
    if (current.isVirtual()) {
      throw new IllegalStateException(path + " needs a platform thread as driver: a ring belongs to one system thread");
    }
    driver = current;
  }

  private void checkOpen() {
    if (driverState.get() == DriverState.CLOSED) {
      throw new IllegalStateException(path + " is closed");
    }
  }

  @Override
  public void wake() {
    DriverState seen = driverState.get();
    while (seen != DriverState.WOKEN && seen != DriverState.CLOSED) {
      DriverState witness = driverState.compareAndExchange(seen, DriverState.WOKEN);
      if (witness == seen) {
        if (seen == DriverState.ASLEEP) {
          signal();
        }
        return;
      }
      seen = witness;
    }
  }

  private void signal() {
    // The driver may have been woken by something else and close the file meanwhile.
    synchronized (waking) {
      if (wakeable) {
        int result = Uring.wake(ring);
        if (result < 0) {
          throw new UnavailableException("cannot wake the driver of " + path + ": " + Errno.describe(-result));
        }
      }
    }
  }

  /**
   * {@inheritDoc} What is queued but not submitted is dropped. While transfers are in flight only the driver may close:
   * nobody else can wait for them.
   */
  @Override
  public void close() {
    DriverState seen = driverState.get();
    if (seen == DriverState.CLOSED) {
      return;
    }
    int inFlight = depth - free - (reaped - delivered) - (failed ? 0 : queued);
    if (seen == DriverState.ASLEEP || (inFlight > 0 && driver != Thread.currentThread())) {
      throw new IllegalStateException(
          path + " is closed by " + Thread.currentThread().getName() + " while " + driver.getName() + " drives it");
    }
    driverState.set(DriverState.CLOSED);
    while (inFlight > 0) {
      int result = failed ? -Errno.EIO.number() : cycle(0, true);
      if (result < 0) {
        // The kernel may still write to the memory of these. All of it stays, rather than be given back too early.
        throw new UnavailableException(
            path + " stays open: the end of " + inFlight + " transfers is not known, " + Errno.describe(-result));
      }
      inFlight -= result;
    }
    synchronized (waking) {
      wakeable = false;
    }
    int result = Uring.destroy(ring);
    arena.close();
    if (result < 0) {
      throw new UnavailableException("closing " + path + " failed with " + Errno.describe(-result));
    }
  }
}
