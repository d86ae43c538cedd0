package io.orbitkv.core.manager;

import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.core.sim.SimPool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;

/** Memory in a file that others map, allocated as the simulator's is. */
final class FileMemory implements HostMemory {

  @Override
  public String name() {
    return "file";
  }

  @Override
  public MemoryPool open(MemoryOptions options) {
    Path file = options.runtimeDirectory().resolve("test.arena");
    Arena arena = Arena.ofShared();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
        StandardOpenOption.WRITE)) {
      MemorySegment memory = channel.map(MapMode.READ_WRITE, 0, options.capacityBytes(), arena);
      return new Pool(file, arena, memory, new SimPool(options.capacityBytes(), MemoryPool.ALIGNMENT));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Pool(Path path, Arena arena, MemorySegment memory, SimPool extents) implements MemoryPool {

    @Override
    public long capacityBytes() {
      return extents.capacityBytes();
    }

    @Override
    public long readyBytes() {
      return extents.readyBytes();
    }

    @Override
    public long allocate(long bytes) {
      return extents.allocate(bytes);
    }

    @Override
    public void free(long offset) {
      extents.free(offset);
    }

    @Override
    public long allocatedBytes() {
      return extents.allocatedBytes();
    }

    @Override
    public long largestFreeBytes() {
      return extents.largestFreeBytes();
    }

    @Override
    public MemorySegment slice(long offset, long bytes) {
      return memory.asSlice(offset, bytes);
    }

    @Override
    public List<MemorySegment> regions() {
      return List.of(memory);
    }

    @Override
    public Optional<Path> file() {
      return Optional.of(path);
    }

    @Override
    public String describe() {
      return "a test's file";
    }

    @Override
    public void close() {
      try {
        Files.deleteIfExists(path);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      arena.close();
    }
  }
}
