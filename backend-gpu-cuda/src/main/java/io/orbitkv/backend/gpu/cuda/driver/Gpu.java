package io.orbitkv.backend.gpu.cuda.driver;

import io.orbitkv.api.UnavailableException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * An open GPU. Streams, events and memory are numbers that it gave out; they are valid until they are ended, and all end
 * with it. Thread-safe, except that calls on one stream are ordered by the caller.
 *
 * <p>Every call but {@link #query} and {@link #await} throws {@link UnavailableException} with CUDA's own words if the
 * driver refuses it.
 */
public final class Gpu implements AutoCloseable {

  private final Driver driver;
  private final GpuFacts facts;
  private final long gpu;

  Gpu(Driver driver, GpuFacts facts, long gpu) {
    this.driver = driver;
    this.facts = facts;
    this.gpu = gpu;
  }

  /** Returns what it is. */
  public GpuFacts facts() {
    return facts;
  }

  /** Returns the driver, which knows of the other GPUs. */
  public Driver driver() {
    return driver;
  }

  /**
   * Makes a stream, whose work runs in order.
   *
   * @param urgent whether its kernels go before those of others
   */
  public long stream(boolean urgent) {
    return driver.check(Cuda.stream(gpu, urgent), "making a stream");
  }

  /** Ends a stream. What is enqueued still runs. */
  public void endStream(long stream) {
    driver.check(Cuda.endStream(gpu, stream), "ending a stream");
  }

  /** Makes an event. */
  public long event() {
    return driver.check(Cuda.event(gpu), "making an event");
  }

  /** Ends an event, own or opened. */
  public void endEvent(long event) {
    driver.check(Cuda.endEvent(gpu, event), "ending an event");
  }

  /** Puts an event behind everything that is enqueued in a stream. */
  public void record(long event, long stream) {
    driver.check(Cuda.record(gpu, event, stream), "recording an event");
  }

  /** Makes what is enqueued in a stream from now on wait for the event's last record; at once if it has none. */
  public void follow(long stream, long event) {
    driver.check(Cuda.follow(gpu, stream, event), "waiting for an event in a stream");
  }

  /**
   * Writes a number to pinned host memory behind everything that is enqueued in a stream. Whoever sees it sees what those
   * copies wrote.
   */
  public void write(long stream, long address, int value) {
    driver.check(Cuda.write(gpu, stream, address, value), "writing a mark in a stream");
  }

  /** Returns whether everything before the event's last record is complete. */
  public Completion query(long event) {
    return completion(Cuda.query(gpu, event));
  }

  /** As {@link #query}, and waits for it so long. */
  public Completion await(long event, long nanos) {
    return completion(Cuda.await(gpu, event, nanos));
  }

  private Completion completion(int result) {
    return switch (result) {
      case 0 -> Completion.PENDING;
      case 1 -> Completion.COMPLETE;
      default -> Completion.unknown(driver.describe(-result));
    };
  }

  /**
   * Opens memory of another process.
   *
   * @param handle its handle, {@link ExportedHandle#BYTES} bytes
   */
  public ImportedMemory openMemory(ExportedHandle handle) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment opened = arena.allocate(ValueLayout.JAVA_LONG, 2);
      driver.check(Cuda.openMemory(gpu, handle.copyTo(arena).address(), opened.address()), "opening the engine's memory");
      return new ImportedMemory(opened.getAtIndex(ValueLayout.JAVA_LONG, 0),
          opened.getAtIndex(ValueLayout.JAVA_LONG, 1));
    }
  }

  /** Gives memory of another process up. */
  public void closeMemory(ImportedMemory memory) {
    driver.check(Cuda.closeMemory(gpu, memory.address()), "closing the engine's memory");
  }

  /** Opens an event of another process. */
  public long openEvent(ExportedHandle handle) {
    try (Arena arena = Arena.ofConfined()) {
      return driver.check(Cuda.openEvent(gpu, handle.copyTo(arena).address()), "opening the engine's event");
    }
  }

  /** Pins host memory: pages of it are taken, and stay where they are. */
  public void pin(long address, long bytes) {
    driver.check(Cuda.pin(gpu, address, bytes), "pinning " + bytes + " bytes of host memory");
  }

  /** Ends a pin that began at this address. */
  public void unpin(long address) {
    driver.check(Cuda.unpin(gpu, address), "unpinning host memory");
  }

  /** Takes memory of the GPU. */
  public long allocate(long bytes) {
    return driver.check(Cuda.allocate(gpu, bytes), "taking " + bytes + " bytes of the GPU's memory");
  }

  /** Gives memory of the GPU back. Waits for what is enqueued. */
  public void free(long address) {
    driver.check(Cuda.free(gpu, address), "giving the GPU's memory back");
  }

  /** Takes pinned host memory. */
  @SuppressWarnings("restricted") // The driver has just stated that these bytes are there.
  public MemorySegment allocateHost(long bytes) {
    long address = driver.check(Cuda.allocateHost(gpu, bytes), "taking " + bytes + " bytes of pinned memory");
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  /** Gives pinned host memory back. */
  public void freeHost(MemorySegment memory) {
    driver.check(Cuda.freeHost(gpu, memory.address()), "giving pinned memory back");
  }

  /**
   * Enqueues copies in a stream, in no order among themselves. If it throws, some may have been enqueued.
   *
   * @param stream the stream
   * @param copies the copies
   * @param toDevice which way
   */
  public void copy(long stream, CopyList copies, boolean toDevice) {
    driver.check(Cuda.copy(gpu, stream, copies.address(), copies.count(), toDevice), "enqueuing copies");
  }

  /**
   * Loads a kernel, which stays until the GPU is closed.
   *
   * @param image machine code or PTX
   * @param name the kernel's name
   */
  public long kernel(byte[] image, String name) {
    try (Arena arena = Arena.ofConfined()) {
      // PTX is text, which ends with a zero.
      MemorySegment copy = arena.allocate(image.length + 1L, Long.BYTES);
      MemorySegment.copy(image, 0, copy, ValueLayout.JAVA_BYTE, 0, image.length);
      MemorySegment named = arena.allocateFrom(name, StandardCharsets.US_ASCII);
      return driver.check(Cuda.kernel(gpu, copy.address(), named.address()), "loading the kernel " + name);
    }
  }

  /** Launches the copy kernel. */
  public void launch(long kernel, long stream, KernelLaunch launch) {
    try (Arena arena = Arena.ofConfined()) {
      driver.check(Cuda.launch(gpu, kernel, stream, launch.copyTo(arena).address()), "launching a kernel");
    }
  }

  /** Gives it up. Nothing of it may be in use. */
  @Override
  public void close() {
    driver.check(Cuda.close(gpu), "closing the GPU");
  }
}
