package io.orbitkv.backend.gpu.cuda.device;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Locale;
import java.util.StringJoiner;

/** The driver for tests, and an engine that exports memory and an event. One for the process. */
final class FakeDriver implements AutoCloseable {

  static final String LIBRARY = System.getProperty("orbitkv.test.driver");
  static final String UUID = "a0".repeat(16);

  private static final int COPIES_FAIL = 1;
  private static final int CONTEXT_LOST = 2;

  private final Arena arena = Arena.ofShared();
  private final SymbolLookup library = lookup();
  private final MemorySegment fence;

  FakeDriver() {
    call("fake_reset");
    fence = (MemorySegment) result("fake_engine_event", FunctionDescriptor.of(ADDRESS));
  }

  @SuppressWarnings("restricted") // A library of this test's own.
  private SymbolLookup lookup() {
    return SymbolLookup.libraryLookup(Path.of(LIBRARY), arena);
  }

  void devices(int count) {
    call("fake_devices", count);
  }

  /** Keeps what is enqueued from happening. */
  void hold() {
    call("fake_hold", 1);
  }

  void release() {
    call("fake_hold", 0);
  }

  void failCopies() {
    call("fake_break", COPIES_FAIL);
  }

  void mend() {
    call("fake_break", 0);
  }

  void loseContext() {
    call("fake_break", CONTEXT_LOST);
  }

  void pins(int left) {
    call("fake_pins", left);
  }

  /** Returns how many streams, events and memory ranges have not been ended. */
  long live() {
    return (long) result("fake_live", FunctionDescriptor.of(JAVA_LONG));
  }

  /** What the driver counts calls of. */
  enum Call { STRIDED, SLICED, BATCH, SINGLE, LAUNCH }

  long calls(Call of) {
    return (long) result("fake_calls", FunctionDescriptor.of(JAVA_LONG, JAVA_INT), of.ordinal());
  }

  /** The engine puts its event behind its work so far. */
  void record() {
    call("fake_engine_record", fence);
  }

  /** The engine's work so far is complete. */
  void complete() {
    call("fake_engine_complete", fence);
  }

  /** Returns how an engine states memory of its own, in parts of an allocation each, and its event. */
  String export(boolean fenced, MemorySegment... parts) {
    StringJoiner memory = new StringJoiner(":");
    memory.add("cuda-ipc").add(UUID).add(Long.toString(ProcessHandle.current().pid()));
    memory.add(fenced ? handle(fence.address(), 0) : "-");
    for (MemorySegment part : parts) {
      memory.add(handle(part.address(), part.byteSize()) + ",0," + part.byteSize());
    }
    return memory.toString();
  }

  /** As {@link #export}, of an engine that also states gates. */
  String exportWithGates(int gates, Path file, MemorySegment... parts) {
    String[] fields = export(true, parts).split(":");
    fields[3] += "," + gates + "," + file;
    return String.join(":", fields);
  }

  static String handle(long address, long bytes) {
    return HexFormat.of().formatHex(ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN).putLong(address)
        .putLong(bytes).array()).toLowerCase(Locale.ROOT);
  }

  private void call(String name, Object... arguments) {
    MemoryLayout[] layouts = new MemoryLayout[arguments.length];
    for (int i = 0; i < layouts.length; i++) {
      layouts[i] = arguments[i] instanceof Integer ? JAVA_INT : ADDRESS;
    }
    result(name, FunctionDescriptor.ofVoid(layouts), arguments);
  }

  @SuppressWarnings("restricted") // A library of this test's own.
  private Object result(String name, FunctionDescriptor descriptor, Object... arguments) {
    MethodHandle function = Linker.nativeLinker().downcallHandle(library.find(name).orElseThrow(), descriptor);
    try {
      return function.invokeWithArguments(arguments);
    } catch (Throwable e) {
      throw new IllegalStateException(name, e);
    }
  }

  @Override
  public void close() {
    call("fake_reset");
    arena.close();
  }
}
