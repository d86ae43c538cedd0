package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A file on a memory file system, mapped by this process and, by path, by others of the same user. On tmpfs it gets
 * huge pages where the mount grants them ({@code huge=advise}, {@code within_size} or {@code always}), on hugetlbfs
 * always.
 */
public final class SharedMemory implements HostMemory {

  /** Has no effect. */
  public SharedMemory() {}

  @Override
  public String name() {
    return "shared";
  }

  @Override
  public MemoryPool open(MemoryOptions options) {
    ArenaSettings settings = ArenaSettings.of(options);
    SystemCalls system = new SystemCalls();
    RuntimeDirectory directory = RuntimeDirectory.take(system, options.runtimeDirectory());
    try {
      long pageBytes = directory.pageBytes();
      long fileBytes = ArenaSettings.roundUp(settings.capacityBytes(), pageBytes);
      MemoryLimits limits = new MemoryLimits();
      directory.freeBytes().ifPresent(free -> limits.add(free, directory.type() + " at " + directory.path()));
      if (directory.type().equals("hugetlbfs")) {
        limits.addHugePages(Path.of("/"), pageBytes);
      } else {
        limits.addSystem(Path.of("/"));
      }
      limits.require(fileBytes);
      Mapping mapping = Mapping.ofFile(system, directory.arenaFile(), fileBytes, pageBytes, true);
      return ArenaPool.open("shared, " + directory.type() + " " + directory.arenaFile(),
          Optional.of(directory.arenaFile()), mapping, settings.withSlabsOfPages(pageBytes), directory::close);
    } catch (IOException e) {
      directory.close();
      throw new UnavailableException("runtime directory " + directory.path() + " cannot be used: " + e, e);
    } catch (RuntimeException e) {
      directory.close();
      throw e;
    }
  }
}
