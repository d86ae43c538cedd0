package io.orbitkv.backend.gpu.cuda.driver;

import io.orbitkv.api.UnavailableException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The CUDA driver of this machine. It stays loaded for the life of the process. Thread-safe. */
public final class Driver {

  /** The driver's library, as it is installed everywhere. */
  public static final String LIBRARY = "libcuda.so.1";

  private static final int TEXT_BYTES = 512;

  private final long driver;

  private Driver(long driver) {
    this.driver = driver;
  }

  /**
   * Loads the driver.
   *
   * @param library its file, or its name where the loader looks
   * @return the driver
   * @throws UnavailableException if there is none, it is too old, or it finds no GPU; the message has the reason
   */
  public static Driver load(String library) {
    CudaLibrary.load();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment said = arena.allocate(TEXT_BYTES);
      long driver = Cuda.load(arena.allocateFrom(library).address(), said.address(), TEXT_BYTES);
      if (driver >= 0) {
        return new Driver(driver);
      }
      String reason = said.getString(0);
      throw new UnavailableException(switch ((int) driver) {
        case Cuda.NO_DRIVER -> "device cuda has no driver here: " + reason
            + "; install NVIDIA's driver, or in a container give it the GPU (as with --gpus all)";
        case Cuda.OLD_DRIVER -> "device cuda needs a newer driver than " + library + ": " + reason
            + "; install one for CUDA 12.0 or later";
        default -> "device cuda cannot be used: " + reason
            + "; 'nvidia-smi' shows which GPUs this machine has, and CUDA_VISIBLE_DEVICES hides some";
      });
    }
  }

  /** Returns how many GPUs this process sees. */
  public int count() {
    return check(Cuda.count(driver), "counting GPUs");
  }

  /**
   * Returns what a GPU is.
   *
   * @param ordinal 0 to {@link #count()} - 1
   */
  public GpuFacts facts(int ordinal) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment facts = arena.allocate(Cuda.FACTS_BYTES, Long.BYTES);
      check(Cuda.describe(driver, ordinal, facts.address()), "describing GPU " + ordinal);
      return GpuFacts.read(facts);
    }
  }

  /**
   * Opens a GPU.
   *
   * @param ordinal 0 to {@link #count()} - 1
   * @return the GPU, owned by the caller
   * @throws UnavailableException if there is none of this ordinal, or it has no room for another process
   */
  public Gpu open(int ordinal) {
    int count = count();
    if (ordinal < 0 || ordinal >= count) {
      throw new UnavailableException("there is no GPU " + ordinal + ": this process sees " + count);
    }
    GpuFacts facts = facts(ordinal);
    return new Gpu(this, facts, check(Cuda.open(driver, ordinal), "opening GPU " + ordinal));
  }

  /** Returns a result, or throws what it means. */
  int check(int result, String action) {
    return (int) check((long) result, action);
  }

  long check(long result, String action) {
    if (result >= 0) {
      return result;
    }
    throw new UnavailableException(action + " failed with " + describe((int) -result));
  }

  /** Returns an error's name and text. */
  String describe(int error) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment said = arena.allocate(TEXT_BYTES);
      Cuda.error(driver, error, said.address(), TEXT_BYTES);
      return said.getString(0);
    }
  }
}
