package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.MemoryPool;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Anonymous memory of this process, for an embedded cache: huge pages need no setting of the administrator where
 * transparent huge pages are "madvise", the usual default. The runtime directory is not used.
 */
public final class PrivateMemory implements HostMemory {

  /** Has no effect. */
  public PrivateMemory() {}

  @Override
  public String name() {
    return "private";
  }

  @Override
  public MemoryPool open(MemoryOptions options) {
    ArenaSettings settings = ArenaSettings.of(options);
    new MemoryLimits().addSystem(Path.of("/")).require(settings.capacityBytes());
    Mapping mapping = Mapping.ofPrivate(new SystemCalls(), settings.capacityBytes());
    return ArenaPool.open("private, anonymous memory", Optional.empty(), mapping, settings, () -> { });
  }
}
