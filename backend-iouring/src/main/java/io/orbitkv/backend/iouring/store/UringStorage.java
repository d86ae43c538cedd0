package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreInspection;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.backend.iouring.ring.RingFiles;
import java.nio.file.Path;
import java.util.Set;

/**
 * The durable store driven through io_uring, under the name {@code io_uring}. Its settings: {@code segment-bytes}, a
 * size, by default about a thirty-second of the capacity; {@code depth}, transfers in flight, 32 by default; {@code
 * direct}, whether to bypass the page cache, true by default.
 */
public final class UringStorage implements StorageBackend {

  private static final String NAME = "io_uring";

  /** For the service loader. */
  public UringStorage() {}

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public BlockStore open(StoreOptions options) {
    Settings settings = Settings.parse(
        NAME, Set.of(Settings.SEGMENT_BYTES, Settings.DEPTH, Settings.DIRECT), options.settings());
    return StoreFolder.open(options, settings, new RingFiles(settings.direct()));
  }

  @Override
  public StoreInspection inspect(Path directory) {
    return Inspection.of(directory);
  }
}
