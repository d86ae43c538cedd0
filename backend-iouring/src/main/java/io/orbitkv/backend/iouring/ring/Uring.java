package io.orbitkv.backend.iouring.ring;

/**
 * The native calls, one for each function of {@code ring.h}. Only numbers cross: addresses as {@code long}, results as
 * counts or negated errnos. Nothing is checked on the other side; {@link RingFile} gives the guarantees.
 *
 * <p>{@code javac -h} turns the constants and signatures into the header that {@code jni.c} is compiled against, so a
 * difference between the two sides stops the build. That is why the functions are bound by their generated names and
 * not by a table at load time.
 */
final class Uring {

  /** What {@link #version} returns if library and classes belong together. Changes whenever this class does. */
  static final int VERSION = 2;

  /** Most requests in flight: the kernel's limit of ring entries, less the one that waits for wakes. */
  static final int MAX_DEPTH = (1 << 15) - 1;

  static final int OPERATION_READ = 0;
  static final int OPERATION_WRITE = 1;
  static final int OPERATION_SYNC = 2;

  /** A request: address (8 bytes), position (8), length (4), registered buffer or -1 (4), slot (4), operation (4). */
  static final int REQUEST_BYTES = 32;

  static final int REQUEST_ADDRESS = 0;
  static final int REQUEST_POSITION = 8;
  static final int REQUEST_LENGTH = 16;
  static final int REQUEST_BUFFER = 20;
  static final int REQUEST_SLOT = 24;
  static final int REQUEST_OPERATION = 28;

  /** A completion: slot (4 bytes), result (4). */
  static final int COMPLETION_BYTES = 8;

  static final int COMPLETION_SLOT = 0;
  static final int COMPLETION_RESULT = 4;

  /** A buffer to register: address (8 bytes), length (8). */
  static final int BUFFER_BYTES = 16;

  static final int BUFFER_ADDRESS = 0;
  static final int BUFFER_LENGTH = 8;

  private Uring() {}

  static native int version();

  static native int openFile(long path, boolean direct);

  static native int closeFile(int file);

  static native int extendFile(long path, long bytes);

  /** Returns the address of a ring, or a negated errno: no address of a process is negative. */
  static native long create(int file, int depth, boolean deferred);

  static native int register(long ring, long buffers, int count);

  static native int cycle(long ring, long requests, int count, boolean wait, long completions);

  static native int wake(long ring);

  static native int destroy(long ring);
}
