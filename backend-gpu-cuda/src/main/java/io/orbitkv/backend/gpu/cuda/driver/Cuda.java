package io.orbitkv.backend.gpu.cuda.driver;

/**
 * The native calls, one for each function of {@code gpu.h}. Only numbers cross: addresses as {@code long}, results as
 * zero or more, or a negated error of CUDA's. Nothing is checked on the other side; {@link Gpu} gives the guarantees.
 *
 * <p>{@code javac -h} turns the constants and signatures into the header that {@code jni.c} is compiled against, so a
 * difference between the two sides stops the build.
 */
final class Cuda {

  /** What {@link #version} returns if library and classes belong together. Changes whenever this class does. */
  static final int VERSION = 2;

  static final int NO_DRIVER = -100000;
  static final int OLD_DRIVER = -100001;

  /** An exported handle of memory or of an event. */
  static final int HANDLE_BYTES = 64;

  /** What a GPU is: seven numbers (4 bytes each), its UUID (16), its name (100). */
  static final int FACTS_BYTES = 144;

  static final int FACTS_DRIVER_VERSION = 0;
  static final int FACTS_MAJOR = 4;
  static final int FACTS_MINOR = 8;
  static final int FACTS_MULTIPROCESSORS = 12;
  static final int FACTS_COPY_ENGINES = 16;
  static final int FACTS_HOST_POINTERS = 20;
  static final int FACTS_BATCHES = 24;
  static final int FACTS_UUID = 28;
  static final int FACTS_NAME = 44;

  /** A copy: device address (8 bytes), host address (8), pitches in both (8 each), bytes a row (4), rows (4). */
  static final int COPY_BYTES = 40;

  static final int COPY_DEVICE = 0;
  static final int COPY_HOST = 8;
  static final int COPY_PITCH = 16;
  static final int COPY_HOST_PITCH = 24;
  static final int COPY_ROW_BYTES = 32;
  static final int COPY_ROWS = 36;

  /** A launch: stripes (8 bytes), blocks (8), and six numbers (4 each). */
  static final int LAUNCH_BYTES = 40;

  static final int LAUNCH_STRIPES = 0;
  static final int LAUNCH_BLOCKS = 8;
  static final int LAUNCH_STRIPE_COUNT = 16;
  static final int LAUNCH_PIECE_BYTES = 20;
  static final int LAUNCH_BLOCK_COUNT = 24;
  static final int LAUNCH_TO_POOL = 28;
  static final int LAUNCH_ALIGNED = 32;
  static final int LAUNCH_GRID = 36;

  private Cuda() {}

  static native int version();

  static native long load(long library, long said, int room);

  static native int count(long driver);

  static native int describe(long driver, int ordinal, long facts);

  static native int error(long driver, int error, long said, int room);

  static native long open(long driver, int ordinal);

  static native int close(long gpu);

  static native long stream(long gpu, boolean urgent);

  static native int endStream(long gpu, long stream);

  static native long event(long gpu);

  static native int endEvent(long gpu, long event);

  static native int record(long gpu, long event, long stream);

  static native int follow(long gpu, long stream, long event);

  static native int write(long gpu, long stream, long address, int value);

  static native int query(long gpu, long event);

  static native int await(long gpu, long event, long nanos);

  /** Writes the address (8 bytes) and the size of the allocation (8) to {@code opened}. */
  static native int openMemory(long gpu, long handle, long opened);

  static native int closeMemory(long gpu, long address);

  static native long openEvent(long gpu, long handle);

  static native int pin(long gpu, long address, long bytes);

  static native int unpin(long gpu, long address);

  static native long allocate(long gpu, long bytes);

  static native int free(long gpu, long address);

  static native long allocateHost(long gpu, long bytes);

  static native int freeHost(long gpu, long address);

  static native int copy(long gpu, long stream, long copies, int count, boolean toDevice);

  static native long kernel(long gpu, long image, long name);

  static native int launch(long gpu, long kernel, long stream, long launch);
}
