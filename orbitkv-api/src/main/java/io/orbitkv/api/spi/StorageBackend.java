package io.orbitkv.api.spi;

import java.nio.file.Path;

/** Provides a durable store of extents. */
public interface StorageBackend {

  /** Returns the name under which it is selected, as "io_uring". */
  String name();

  /**
   * Opens or creates a store.
   *
   * @param options where and how large
   * @return the store, owned by the caller
   * @throws io.orbitkv.api.RefusedException if a setting is wrong, or the folder holds something else
   * @throws io.orbitkv.api.UnavailableException if the machine does not grant what is needed, or another process owns
   *     the folder; the message names the knob or the process
   */
  BlockStore open(StoreOptions options);

  /**
   * Reads what a folder holds without owning, locking or changing it; also while another process uses it.
   *
   * @param directory the store's folder
   * @return what was found; damage is reported in it
   * @throws io.orbitkv.api.RefusedException if the folder holds no store of this backend
   */
  StoreInspection inspect(Path directory);
}
