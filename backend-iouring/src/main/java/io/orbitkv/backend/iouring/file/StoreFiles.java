package io.orbitkv.backend.iouring.file;

import java.io.IOException;
import java.nio.file.Path;

/** Opens store files one way: through io_uring, or through file channels. */
public interface StoreFiles {

  /**
   * Opens an existing file for reading and writing.
   *
   * @param path the file
   * @param depth how many requests may be between call and completion at once
   * @return the open file
   * @throws IOException if the file cannot be opened
   * @throws io.orbitkv.api.UnavailableException if the machine does not grant this way; the message names the knob
   */
  StoreFile open(Path path, int depth) throws IOException;
}
