package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * One address range, aligned for huge pages, whose memory is taken piece by piece. {@link #take} may be called by many
 * threads for different pieces; unmap only when none runs.
 */
final class Mapping implements AutoCloseable {

  /** The least alignment of the range: the huge page of x86-64 and the common one of arm64. */
  static final long HUGE_PAGE_BYTES = 2L << 20;

  private static final int SMALL_PAGE_BYTES = 4096;

  private final SystemCalls system;
  private final int fd;
  private final Arena arena;
  private final MemorySegment memory;
  private final boolean populates;

  private Mapping(SystemCalls system, int fd, Arena arena, MemorySegment memory, boolean populates) {
    this.system = system;
    this.fd = fd;
    this.arena = arena;
    this.memory = memory;
    this.populates = populates;
  }

  /** Maps memory that no other process can see. */
  static Mapping ofPrivate(SystemCalls system, long bytes) {
    return map(system, -1, bytes, HUGE_PAGE_BYTES,
        SystemCalls.MAP_PRIVATE | SystemCalls.MAP_ANONYMOUS | SystemCalls.MAP_NORESERVE, true);
  }

  /**
   * Creates a file of mode 0600 and maps it.
   *
   * @param file a path at which there is nothing
   * @param bytes its size, a multiple of the file system's page
   * @param pageBytes the file system's page
   * @param populates whether to rely on MADV_POPULATE_WRITE, where the kernel has it
   */
  static Mapping ofFile(SystemCalls system, Path file, long bytes, long pageBytes, boolean populates) {
    int fd = system.open(file, SystemCalls.O_RDWR | SystemCalls.O_CREAT | SystemCalls.O_EXCL | SystemCalls.O_NOFOLLOW
        | SystemCalls.O_CLOEXEC, 0600);
    if (fd < 0) {
      throw new UnavailableException("arena file " + file + " cannot be created: " + SystemCalls.name(-fd));
    }
    try {
      int outcome = system.ftruncate(fd, bytes);
      if (outcome != 0) {
        throw new UnavailableException(
            "arena file " + file + " cannot be given " + bytes + " bytes: " + SystemCalls.name(-outcome));
      }
      return map(system, fd, bytes, Math.max(HUGE_PAGE_BYTES, pageBytes),
          SystemCalls.MAP_SHARED | SystemCalls.MAP_NORESERVE, populates);
    } catch (RuntimeException e) {
      system.close(fd);
      throw e;
    }
  }

  @SuppressWarnings("restricted") // An address from mmap becomes a segment here and nowhere else.
  private static Mapping map(
      SystemCalls system, int fd, long bytes, long alignment, int flags, boolean populates) {
    // A reservation one page longer holds an aligned start; the mapping then replaces its part of it.
    long reserved = bytes + alignment;
    long reservation = system.mmap(0, reserved, SystemCalls.PROT_NONE,
        SystemCalls.MAP_PRIVATE | SystemCalls.MAP_ANONYMOUS | SystemCalls.MAP_NORESERVE, -1, 0);
    if (reservation < 0) {
      throw unmappable(bytes, reservation);
    }
    long start = (reservation + alignment - 1) & -alignment;
    long mapped = system.mmap(start, bytes, SystemCalls.PROT_READ_WRITE, flags | SystemCalls.MAP_FIXED, fd, 0);
    if (mapped < 0) {
      system.munmap(reservation, reserved);
      throw unmappable(bytes, mapped);
    }
    if (start > reservation) {
      system.munmap(reservation, start - reservation);
    }
    long tail = (start + bytes + SMALL_PAGE_BYTES - 1) & -SMALL_PAGE_BYTES;
    if (reservation + reserved > tail) {
      system.munmap(tail, reservation + reserved - tail);
    }
    // Refused where huge pages are not built in; what came of it is read back, see MappedPages.
    system.madvise(start, bytes, SystemCalls.MADV_HUGEPAGE);
    Arena arena = Arena.ofShared();
    MemorySegment memory =
        MemorySegment.ofAddress(start).reinterpret(bytes, arena, all -> system.munmap(start, bytes));
    return new Mapping(system, fd, arena, memory, populates);
  }

  private static UnavailableException unmappable(long bytes, long outcome) {
    return new UnavailableException("cannot map " + new ByteSize(bytes) + " of memory: "
        + SystemCalls.name((int) -outcome) + "; check ulimit -v and vm.max_map_count");
  }

  MemorySegment memory() {
    return memory;
  }

  /**
   * Takes real memory for a piece, so that touching it later can neither fail nor wait.
   *
   * @throws IOException if the system does not grant it; what was taken of the piece stays taken
   */
  void take(long offset, long bytes) throws IOException {
    // Reserves and maps in one call and reports as EFAULT what a plain touch would have raised SIGBUS for.
    int outcome = populates
        ? populate(memory.address() + offset, bytes)
        : -SystemCalls.EINVAL;
    if (outcome == -SystemCalls.EINVAL) { // Linux before 5.14
      outcome = fd >= 0 ? reserve(offset, bytes) : 0;
      if (outcome == 0) {
        for (long at = offset; at < offset + bytes; at += SMALL_PAGE_BYTES) {
          memory.set(ValueLayout.JAVA_BYTE, at, (byte) 0);
        }
      }
    }
    if (outcome != 0) {
      throw new IOException(outcome == -SystemCalls.EFAULT || outcome == -SystemCalls.ENOSPC
          ? "the file system has no more space (" + SystemCalls.name(-outcome) + ")"
          : SystemCalls.name(-outcome));
    }
  }

  private int populate(long address, long bytes) {
    int outcome;
    do {
      outcome = system.madvise(address, bytes, SystemCalls.MADV_POPULATE_WRITE);
    } while (outcome == -SystemCalls.EINTR);
    return outcome;
  }

  private int reserve(long offset, long bytes) {
    int outcome;
    do {
      outcome = system.fallocate(fd, offset, bytes);
    } while (outcome == -SystemCalls.EINTR);
    return outcome;
  }

  /** Unmaps and closes the file. Every view of it ends. */
  @Override
  public void close() {
    try {
      arena.close();
    } finally {
      if (fd >= 0) {
        system.close(fd);
      }
    }
  }

  /**
   * Reads back which pages the system uses for this range.
   *
   * @return as "4 KiB pages" or "2 MiB pages for 512MiB of 1GiB"
   */
  String pages() {
    try {
      return MappedPages.of(Files.readAllLines(Path.of("/proc/self/smaps")), memory.address(), memory.byteSize())
          .toString();
    } catch (IOException e) {
      return "pages unknown (" + e.getMessage() + ")";
    }
  }
}
