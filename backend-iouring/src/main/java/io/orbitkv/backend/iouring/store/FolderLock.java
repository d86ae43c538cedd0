package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The ownership of a store's folder, held through a lock on its empty file {@code lock} and noted in {@code owner}.
 *
 * <p>Linux drops a process's lock on a file as soon as that process closes <em>any</em> descriptor of it. So the lock
 * file is opened by nobody but the owner: who it is stands in a file beside it, and a second opener in the same process
 * is refused by that note before it could open, and close, the lock.
 */
final class FolderLock implements AutoCloseable {

  static final String FILE = "lock";

  private final Path folder;
  private final FileChannel channel;

  private FolderLock(Path folder, FileChannel channel) {
    this.folder = folder;
    this.channel = channel;
  }

  /**
   * Becomes the owner.
   *
   * @throws UnavailableException if there is another; the message names it
   */
  static FolderLock acquire(Path folder) throws IOException {
    // The class as monitor, so that of two openers in this process one sees the other's note.
    synchronized (FolderLock.class) {
      if (Owner.read(folder).filter(Owner::isThisProcess).isPresent()) {
        throw inUse(folder);
      }
      FileChannel channel =
          FileChannel.open(folder.resolve(FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      try {
        FileLock lock = channel.tryLock();
        if (lock == null) {
          throw inUse(folder);
        }
        Owner.thisProcess().write(folder);
        return new FolderLock(folder, channel);
      } catch (OverlappingFileLockException e) {
        channel.close();
        throw inUse(folder);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw e;
      }
    }
  }

  private static UnavailableException inUse(Path folder) {
    String owner = Owner.read(folder)
        .map(found -> (found.isThisProcess() ? "this very process, " : "") + found)
        .orElse("another process");
    return new UnavailableException("store folder " + folder + " is in use by " + owner
        + "; stop it, or give this one a folder of its own");
  }

  /**
   * Gives the folder up. The lock file stays: to remove a file that another process is about to lock would let two
   * owners in.
   */
  @Override
  public void close() throws IOException {
    synchronized (FolderLock.class) {
      try {
        Files.deleteIfExists(folder.resolve(Owner.FILE));
      } finally {
        channel.close();
      }
    }
  }
}
