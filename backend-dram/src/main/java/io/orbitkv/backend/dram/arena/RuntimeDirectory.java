package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.OptionalLong;
import java.util.Set;

/**
 * A private folder on a memory file system, owned by one pool at a time through a lock file. Taking it removes what a
 * dead owner left.
 *
 * <p>The lock is an flock, not a {@code FileLock}: it belongs to the open file and not to the process, so a second pool
 * of the same process is refused too, and its failed attempt cannot drop the lock of the first.
 */
final class RuntimeDirectory implements AutoCloseable {

  private static final String LOCK_FILE = "arena.lock";
  private static final String ARENA_FILE = "blocks.arena";
  private static final Set<PosixFilePermission> PRIVATE = Set.of(
      PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);

  private final SystemCalls system;
  private final Path path;
  private final FileStore fileSystem;
  private int lock;

  private RuntimeDirectory(SystemCalls system, Path path, FileStore fileSystem, int lock) {
    this.system = system;
    this.path = path;
    this.fileSystem = fileSystem;
    this.lock = lock;
  }

  /**
   * Takes the folder, creating it if it is missing.
   *
   * @throws UnavailableException if another pool owns it; the message names its process
   */
  static RuntimeDirectory take(SystemCalls system, Path directory) {
    Path path = directory.toAbsolutePath().normalize();
    try {
      Files.createDirectories(path, PosixFilePermissions.asFileAttribute(PRIVATE));
      requirePrivate(path);
      FileStore fileSystem = Files.getFileStore(path);
      requireMemory(path, fileSystem);
      int lock = lock(system, path.resolve(LOCK_FILE));
      RuntimeDirectory taken = new RuntimeDirectory(system, path, fileSystem, lock);
      try {
        taken.removeStaleArenas();
      } catch (IOException | RuntimeException e) {
        taken.close();
        throw e;
      }
      return taken;
    } catch (IOException e) {
      throw new UnavailableException("runtime directory " + path + " cannot be used: " + e, e);
    }
  }

  private static void requirePrivate(Path path) throws IOException {
    PosixFileAttributes attributes =
        Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    String user = Files.readAttributes(Path.of("/proc/self"), PosixFileAttributes.class).owner().getName();
    if (!attributes.isDirectory() || !attributes.owner().getName().equals(user)
        || !PRIVATE.containsAll(attributes.permissions())) {
      throw new RefusedException("runtime directory " + path + " is "
          + PosixFilePermissions.toString(attributes.permissions()) + " of " + attributes.owner().getName()
          + ", expected a folder rwx------ of " + user
          + ": others must not read the cache; chmod 700 it or name another");
    }
  }

  private static void requireMemory(Path path, FileStore fileSystem) {
    if (!fileSystem.type().equals("tmpfs") && !fileSystem.type().equals("hugetlbfs")) {
      throw new RefusedException("runtime directory " + path + " is on " + fileSystem.type()
          + ", expected tmpfs or hugetlbfs: the system would write the cache to a disk; choose a folder in /dev/shm");
    }
  }

  private static int lock(SystemCalls system, Path file) throws IOException {
    int fd = system.open(file,
        SystemCalls.O_RDWR | SystemCalls.O_CREAT | SystemCalls.O_NOFOLLOW | SystemCalls.O_CLOEXEC, 0600);
    if (fd < 0) {
      throw new UnavailableException("lock file " + file + " cannot be opened: " + SystemCalls.name(-fd));
    }
    int outcome = system.flock(fd, SystemCalls.LOCK_EX | SystemCalls.LOCK_NB);
    if (outcome == 0) {
      try {
        Files.writeString(file, ProcessHandle.current().pid() + "\n");
        return fd;
      } catch (IOException e) {
        // hugetlbfs has no file writes: its lock names no process, and still excludes.
        return fd;
      }
    }
    system.close(fd);
    if (outcome != -SystemCalls.EWOULDBLOCK) {
      throw new UnavailableException("lock file " + file + " cannot be locked: " + SystemCalls.name(-outcome));
    }
    String pid = Files.readString(file).strip();
    throw new UnavailableException("runtime directory " + file.getParent() + " is owned by "
        + (pid.isEmpty() ? "another process" : "process " + pid) + "; stop it, or choose another runtime directory");
  }

  private void removeStaleArenas() throws IOException {
    try (DirectoryStream<Path> arenas = Files.newDirectoryStream(path, "*.arena")) {
      for (Path arena : arenas) {
        Files.delete(arena);
      }
    }
  }

  Path arenaFile() {
    return path.resolve(ARENA_FILE);
  }

  Path path() {
    return path;
  }

  /** Returns "tmpfs" or "hugetlbfs". */
  String type() {
    return fileSystem.type();
  }

  /** Returns the free bytes of the file system, if it has a size: hugetlbfs has one only if its mount sets it. */
  OptionalLong freeBytes() throws IOException {
    return fileSystem.getTotalSpace() == 0 ? OptionalLong.empty() : OptionalLong.of(fileSystem.getUsableSpace());
  }

  /** Returns the size of the file system's pages in bytes. */
  long pageBytes() throws IOException {
    return fileSystem.getBlockSize();
  }

  /** Removes the arena and gives the folder up. The lock file stays: if it were deleted, two owners could lock two. */
  @Override
  public void close() {
    if (lock >= 0) {
      try {
        Files.deleteIfExists(arenaFile());
      } catch (IOException e) {
        System.getLogger(RuntimeDirectory.class.getName())
            .log(System.Logger.Level.WARNING, "arena file " + arenaFile() + " was not removed: " + e);
      }
      system.ftruncate(lock, 0); // So that the next owner is never called by this one's number.
      system.close(lock);
      lock = -1;
    }
  }
}
