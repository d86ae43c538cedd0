package io.orbitkv.backend.dram.arena;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.orbitkv.api.UnavailableException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/**
 * The few calls to libc for which the platform has no interface of its own. Bound when a pool is opened, by the
 * process's own libc: no library is loaded. Each returns what libc returned, or the negated errno. Thread-safe.
 */
final class SystemCalls {

  static final int EINTR = 4;
  static final int EWOULDBLOCK = 11;
  static final int ENOMEM = 12;
  static final int EFAULT = 14;
  static final int EEXIST = 17;
  static final int EINVAL = 22;
  static final int ENOSPC = 28;

  static final int O_RDWR = 2;
  static final int O_CREAT = 0x40;
  static final int O_EXCL = 0x80;
  static final int O_NOFOLLOW = 0x20000;
  static final int O_CLOEXEC = 0x80000;

  static final int LOCK_EX = 2;
  static final int LOCK_NB = 4;

  static final int PROT_NONE = 0;
  static final int PROT_READ_WRITE = 3;

  static final int MAP_SHARED = 1;
  static final int MAP_PRIVATE = 2;
  static final int MAP_FIXED = 0x10;
  static final int MAP_ANONYMOUS = 0x20;
  static final int MAP_NORESERVE = 0x4000;

  static final int MADV_HUGEPAGE = 14;
  static final int MADV_POPULATE_WRITE = 23;

  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO = CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private final MethodHandle open;
  private final MethodHandle close;
  private final MethodHandle flock;
  private final MethodHandle ftruncate;
  private final MethodHandle fallocate;
  private final MethodHandle mmap;
  private final MethodHandle munmap;
  private final MethodHandle madvise;

  SystemCalls() {
    if (!System.getProperty("os.name").equals("Linux") || ADDRESS.byteSize() != Long.BYTES) {
      throw new UnavailableException("this memory needs 64-bit Linux, found " + System.getProperty("os.name") + " "
          + System.getProperty("os.arch"));
    }
    open = bind("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
        Linker.Option.firstVariadicArg(2));
    close = bind("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    flock = bind("flock", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    ftruncate = bind("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    fallocate = bind("fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    mmap = bind("mmap",
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    munmap = bind("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    madvise = bind("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
  }

  @SuppressWarnings("restricted") // The module is granted native access for exactly these calls.
  private static MethodHandle bind(String name, FunctionDescriptor descriptor, Linker.Option... options) {
    Linker linker = Linker.nativeLinker();
    Linker.Option[] all = new Linker.Option[options.length + 1];
    all[0] = Linker.Option.captureCallState("errno");
    System.arraycopy(options, 0, all, 1, options.length);
    MemorySegment address = linker.defaultLookup().find(name)
        .orElseThrow(() -> new UnavailableException("the C library has no function " + name));
    return linker.downcallHandle(address, descriptor, all);
  }

  /** Opens a file; the mode counts only where it is created. */
  int open(Path path, int flags, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      int fd = (int) open.invokeExact(errno, arena.allocateFrom(path.toString()), flags, mode);
      return fd >= 0 ? fd : -errno(errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int close(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      return outcome((int) close.invokeExact(errno, fd), errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int flock(int fd, int operation) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      return outcome((int) flock.invokeExact(errno, fd, operation), errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int ftruncate(int fd, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      return outcome((int) ftruncate.invokeExact(errno, fd, bytes), errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Reserves space of a file, in its default mode. */
  int fallocate(int fd, long offset, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      return outcome((int) fallocate.invokeExact(errno, fd, 0, offset, bytes), errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Maps memory and returns its address, or the negated errno; addresses are below 2^63. */
  long mmap(long address, long bytes, int protection, int flags, int fd, long offset) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      long mapped = (long) mmap.invokeExact(errno, address, bytes, protection, flags, fd, offset);
      return mapped != -1 ? mapped : -errno(errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int munmap(long address, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      return outcome((int) munmap.invokeExact(errno, address, bytes), errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int madvise(long address, long bytes, int advice) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(CAPTURE);
      return outcome((int) madvise.invokeExact(errno, address, bytes, advice), errno);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns an errno in words, for messages. */
  static String name(int errno) {
    return switch (errno) {
      case 1 -> "EPERM";
      case 2 -> "ENOENT";
      case 5 -> "EIO";
      case 13 -> "EACCES";
      case 20 -> "ENOTDIR";
      case 24 -> "EMFILE";
      case 30 -> "EROFS";
      case 40 -> "ELOOP";
      case 122 -> "EDQUOT";
      case EINTR -> "EINTR";
      case ENOMEM -> "ENOMEM";
      case EFAULT -> "EFAULT";
      case EEXIST -> "EEXIST";
      case EINVAL -> "EINVAL";
      case ENOSPC -> "ENOSPC";
      default -> "errno " + errno;
    };
  }

  private static int outcome(int result, MemorySegment errno) {
    return result == 0 ? 0 : -errno(errno);
  }

  private static int errno(MemorySegment state) {
    return (int) ERRNO.get(state, 0L);
  }

  private static AssertionError unexpected(Throwable e) {
    if (e instanceof Error error) {
      throw error;
    }
    return new AssertionError("a call that throws nothing threw", e);
  }
}
