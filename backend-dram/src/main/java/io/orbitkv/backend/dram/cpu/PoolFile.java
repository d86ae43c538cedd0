package io.orbitkv.backend.dram.cpu;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.PoolLayout;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The file that holds an engine's pages, mapped. What it holds outlives its name and its engine until it is closed. */
final class PoolFile implements AutoCloseable {

  private final Arena arena;
  private final MemorySegment pool;

  private PoolFile(Arena arena, MemorySegment pool) {
    this.arena = arena;
    this.pool = pool;
  }

  static PoolFile map(String file, PoolLayout layout) {
    Path path = path(file);
    try (FileChannel channel = FileChannel.open(
        path, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
      long size = channel.size();
      if (size < layout.poolBytes()) {
        throw new RefusedException("memory " + path + " has " + size + " bytes, expected at least " + layout.poolBytes()
            + " for the stated layout");
      }
      Arena arena = Arena.ofShared();
      try {
        return new PoolFile(arena, channel.map(MapMode.READ_WRITE, 0, layout.poolBytes(), arena));
      } catch (IOException | RuntimeException e) {
        arena.close();
        throw e;
      }
    } catch (IOException | UnsupportedOperationException e) {
      throw new UnavailableException("memory " + path + " cannot be mapped: " + e, e);
    }
  }

  private static Path path(String file) {
    try {
      Path path = Path.of(file);
      if (path.isAbsolute()) {
        return path;
      }
    } catch (InvalidPathException e) {
      // Said below, as for a relative one.
    }
    throw new RefusedException("memory '" + file + "' is not the absolute path of a file");
  }

  MemorySegment pool() {
    return pool;
  }

  @Override
  public void close() {
    arena.close();
  }
}
