package io.orbitkv.backend.iouring.file;

/**
 * The errors of Linux that a store file answers with, by their numbers on every platform that OrbitKV runs on. A result
 * of a transfer is {@code -number}.
 */
public enum Errno {
  /** Not permitted. */
  EPERM(1, "operation not permitted"),
  /** No such file. */
  ENOENT(2, "no such file or directory"),
  /** Cut short by a signal. */
  EINTR(4, "interrupted system call"),
  /** The device failed. */
  EIO(5, "input/output error"),
  /** A descriptor that is not open. */
  EBADF(9, "bad file descriptor"),
  /** Nothing to be had for the moment. */
  EAGAIN(11, "resource temporarily unavailable"),
  /** No memory, or none that may be locked. */
  ENOMEM(12, "cannot allocate memory"),
  /** Permission denied. */
  EACCES(13, "permission denied"),
  /** An address outside the process. */
  EFAULT(14, "bad address"),
  /** In use. */
  EBUSY(16, "device or resource busy"),
  /** In use by another thread: what a ring of a single issuer says to others. */
  EEXIST(17, "file exists"),
  /** Not a file. */
  EISDIR(21, "is a directory"),
  /** An argument that the kernel or the file system does not take. */
  EINVAL(22, "invalid argument"),
  /** Too many open files in the system. */
  ENFILE(23, "too many open files in system"),
  /** Too many open files in the process. */
  EMFILE(24, "too many open files"),
  /** Longer than a file may be. */
  EFBIG(27, "file too large"),
  /** The file system is full. */
  ENOSPC(28, "no space left on device"),
  /** The file system is read-only. */
  EROFS(30, "read-only file system"),
  /** The kernel lacks this call. */
  ENOSYS(38, "function not implemented"),
  /** A value that does not fit. */
  EOVERFLOW(75, "value too large"),
  /** Not supported. */
  ENOTSUP(95, "operation not supported"),
  /** The quota is used up. */
  EDQUOT(122, "disk quota exceeded");

  private final int number;
  private final String text;

  Errno(int number, String text) {
    this.number = number;
    this.text = text;
  }

  /** Returns the number, greater than zero. */
  public int number() {
    return number;
  }

  /**
   * Returns an error in words, as "ENOSPC (no space left on device)".
   *
   * @param number its number, greater than zero
   */
  public static String describe(int number) {
    for (Errno errno : values()) {
      if (errno.number == number) {
        return errno.name() + " (" + errno.text + ")";
      }
    }
    return "errno " + number;
  }
}
