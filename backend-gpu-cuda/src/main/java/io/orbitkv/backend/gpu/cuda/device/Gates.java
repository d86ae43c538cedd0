package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Numbers that an engine's streams wait for, one for each band of layers, the first layers' first. Behind a band of a load
 * its gate is raised to the load's mark, by the GPU itself.
 *
 * <p>They lie in memory that the engine shares, and are no events: one of a process that was killed never completes
 * (seen on an H200: not in 4 s), so that a stream of the engine that waits for it is lost. These the engine raises itself
 * when its agent has ended.
 */
final class Gates implements AutoCloseable {

  /**
   * What an engine states of its gates.
   *
   * @param count how many
   * @param file where they are, 4 bytes each
   */
  record Exported(int count, Path file) {}

  private final Gpu gpu;
  private final int count;
  private final Arena arena;
  private final MemorySegment memory;

  private Gates(Gpu gpu, int count, Arena arena, MemorySegment memory) {
    this.gpu = gpu;
    this.count = count;
    this.arena = arena;
    this.memory = memory;
  }

  /**
   * Maps and pins them.
   *
   * @throws RefusedException if the file is not what was stated, or there are more gates than layers
   * @throws UnavailableException if they cannot be pinned
   */
  static Gates open(Gpu gpu, Exported stated, int layers) {
    if (stated.count() > layers) {
      throw new RefusedException("the engine states " + stated.count() + " gates for " + layers
          + " layers, expected one for each layer at most");
    }
    Arena arena = Arena.ofShared();
    try {
      Gates gates = new Gates(gpu, stated.count(), arena, map(stated, arena));
      gpu.pin(gates.memory.address(), gates.memory.byteSize());
      return gates;
    } catch (RefusedException | UnavailableException e) {
      arena.close();
      throw e;
    }
  }

  private static MemorySegment map(Exported stated, Arena arena) {
    try (FileChannel file = FileChannel.open(stated.file(), StandardOpenOption.READ, StandardOpenOption.WRITE,
        LinkOption.NOFOLLOW_LINKS)) {
      long size = file.size();
      if (size < (long) stated.count() * Integer.BYTES) {
        throw new RefusedException("the engine's gates in " + stated.file() + " have " + size + " bytes, expected "
            + Integer.BYTES + " for each of " + stated.count());
      }
      return file.map(FileChannel.MapMode.READ_WRITE, 0, size, arena);
    } catch (IOException e) {
      throw new RefusedException("the engine's gates in " + stated.file() + " cannot be opened: " + e);
    }
  }

  int count() {
    return count;
  }

  /** Has a gate raised behind everything that is enqueued. */
  void raise(CopyLane lane, int band, int mark) {
    lane.write(memory.address() + (long) band * Integer.BYTES, mark);
  }

  @Override
  public void close() {
    gpu.unpin(memory.address());
    arena.close();
  }
}
