package io.orbitkv.backend.iouring.file;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Opens store files through {@link FileChannel}, for machines that refuse io_uring. The format of what they hold is the
 * same.
 *
 * <p>Transfers go through the page cache. The option for {@code O_DIRECT}, {@code ExtendedOpenOption.DIRECT}, belongs
 * to an internal package: the compiler's warning about it cannot be suppressed, and this build takes none.
 */
public final class ChannelFiles implements StoreFiles {

  private final int threads;

  /**
   * @param threads how many transfers of a file the system may work on at once
   */
  public ChannelFiles(int threads) {
    if (threads < 1) {
      throw new IllegalArgumentException("threads is " + threads + ", expected 1 or more");
    }
    this.threads = threads;
  }

  @Override
  public StoreFile open(Path path, int depth) throws IOException {
    if (depth < 1) {
      throw new IllegalArgumentException("depth is " + depth + ", expected 1 or more");
    }
    FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    return new ChannelFile(channel, depth, Math.min(threads, depth));
  }
}
