package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreInspection;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.backend.iouring.file.ChannelFiles;
import java.nio.file.Path;
import java.util.Set;

/**
 * The same durable store driven through file channels, under the name {@code file}, for machines that refuse io_uring.
 * The format is the same: either can open what the other made. Its settings: {@code segment-bytes} and {@code depth}, as
 * for {@link UringStorage}. A new store is filled with zeros at the speed of the disk, since Java cannot ask a file
 * system for space.
 */
public final class ChannelStorage implements StorageBackend {

  private static final String NAME = "file";

  /** Threads that block in transfers: enough to keep a disk busy, few enough for a small machine. */
  private static final int THREADS = 8;

  /** For the service loader. */
  public ChannelStorage() {}

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public BlockStore open(StoreOptions options) {
    Settings settings =
        Settings.parse(NAME, Set.of(Settings.SEGMENT_BYTES, Settings.DEPTH), options.settings());
    return StoreFolder.open(options, settings, new ChannelFiles(THREADS));
  }

  @Override
  public StoreInspection inspect(Path directory) {
    return Inspection.of(directory);
  }
}
