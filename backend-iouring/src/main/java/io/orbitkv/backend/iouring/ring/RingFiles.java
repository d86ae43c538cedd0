package io.orbitkv.backend.iouring.ring;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.iouring.file.Errno;
import io.orbitkv.backend.iouring.file.StoreFile;
import io.orbitkv.backend.iouring.file.StoreFiles;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.Charset;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Opens store files through io_uring, one ring each. The first call loads the native library. */
public final class RingFiles implements StoreFiles {

  private final boolean direct;

  /**
   * @param direct whether to open with {@code O_DIRECT}, past the page cache, which would hold every byte a second time
   */
  public RingFiles(boolean direct) {
    this.direct = direct;
  }

  @Override
  public StoreFile open(Path path, int depth) throws IOException {
    if (depth < 1 || depth > Uring.MAX_DEPTH) {
      throw new IllegalArgumentException("depth is " + depth + ", expected 1 to " + Uring.MAX_DEPTH);
    }
    RingLibrary.load();
    int file = openFile(path);
    long ring = Uring.create(file, depth, true);
    if (ring == -Errno.EINVAL.number()) {
      ring = Uring.create(file, depth, false); // the kernel is older than 6.1
    }
    if (ring < 0) {
      Uring.closeFile(file); // nothing was written to it: the refusal is what there is to report
      throw RingRefusal.ofSetup((int) -ring, depth, KernelSettings.read());
    }
    return new RingFile(path, depth, ring);
  }

  /** {@inheritDoc} Asks the file system for the space, and writes nothing where it can give it unwritten. */
  @Override
  public void extend(Path path, long bytes) throws IOException {
    RingLibrary.load();
    int result;
    try (Arena arena = Arena.ofConfined()) {
      result = Uring.extendFile(name(path, arena).address(), bytes);
    }
    if (result == -Errno.ENOTSUP.number()) {
      StoreFiles.super.extend(path, bytes);
    } else if (result < 0) {
      throw failure(path, -result);
    }
  }

  private int openFile(Path path) throws IOException {
    int file;
    try (Arena arena = Arena.ofConfined()) {
      file = Uring.openFile(name(path, arena).address(), direct);
    }
    if (file == -Errno.EINVAL.number() && direct) {
      throw new UnavailableException(
          "the file system of " + path + " (" + Files.getFileStore(path).type() + ") refuses O_DIRECT; use one that"
              + " grants it, as ext4 or XFS on a local disk, or set direct=false to go through the page cache");
    }
    if (file < 0) {
      throw failure(path, -file);
    }
    return file;
  }

  private static MemorySegment name(Path path, Arena arena) {
    return arena.allocateFrom(path.toString(), Charset.forName(System.getProperty("sun.jnu.encoding")));
  }

  private static FileSystemException failure(Path path, int errno) {
    if (errno == Errno.ENOENT.number()) {
      return new NoSuchFileException(path.toString());
    }
    if (errno == Errno.EACCES.number()) {
      return new AccessDeniedException(path.toString());
    }
    return new FileSystemException(path.toString(), null, Errno.describe(errno));
  }
}
