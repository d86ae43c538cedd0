package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/**
 * An SSD tier as it is typed: {@code DIR:SIZE}.
 *
 * @param directory the store's folder
 * @param capacity the most bytes of disk that it uses
 */
record SsdTier(Path directory, ByteSize capacity) {

  static SsdTier parse(String text) {
    int colon = text.lastIndexOf(':');
    if (colon < 1) {
      throw new RefusedException("'" + text + "' is not a folder and a size, as in /var/lib/orbitkv:100GiB");
    }
    try {
      return new SsdTier(Path.of(text.substring(0, colon)), ByteSize.parse(text.substring(colon + 1)));
    } catch (InvalidPathException e) {
      throw new RefusedException("'" + text + "' is not a path: " + e.getReason(), e);
    }
  }
}
