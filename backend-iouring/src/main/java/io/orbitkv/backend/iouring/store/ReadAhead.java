package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Reads a row of ranges in order with several in flight, in a bounded amount of memory. Used by one thread. */
final class ReadAhead implements AutoCloseable {

  private static final int CHUNK_BYTES = 1 << 20;

  private static final int MOST_CHUNKS = 16;

  /**
   * A part of the file.
   *
   * @param segment the segment that it lies in
   * @param position where it begins in the file
   * @param bytes its length, at most that of a chunk
   */
  record Range(int segment, long position, int bytes) {

    /** Divides a longer stretch into ranges. */
    static Stream<Range> of(int segment, long position, long bytes) {
      return LongStream.range(0, (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES)
          .map(chunk -> chunk * CHUNK_BYTES)
          .mapToObj(at -> new Range(segment, position + at, (int) Math.min(CHUNK_BYTES, bytes - at)));
    }
  }

  /** Receives ranges in the order in which they were given. */
  @FunctionalInterface
  interface Visitor {
    /**
     * Takes a range.
     *
     * @param range which one
     * @param bytes what was read, valid during the call; undefined unless the status is OK
     * @param status how the read ended
     */
    void visit(Range range, MemorySegment bytes, StoreStatus status);
  }

  private static final class Chunk extends DiskTransfer {
    final MemorySegment buffer;
    Range range;
    StoreStatus status;

    Chunk(MemorySegment buffer) {
      this.buffer = buffer;
    }

    @Override
    void ended(StoreStatus result) {
      status = result;
    }
  }

  private final DiskQueue disk;
  private final Arena arena = Arena.ofShared();
  private final List<Chunk> chunks;

  /**
   * Allocates the memory.
   *
   * @param file what is read
   * @param longest no stretch that is to be divided is longer; chunks need not be either
   */
  ReadAhead(StoreFile file, long longest) {
    this.disk = new DiskQueue(file);
    long bytes = Math.min(CHUNK_BYTES, longest);
    this.chunks = Stream.generate(() -> new Chunk(arena.allocate(bytes, Page.BYTES)))
        .limit(Math.min(MOST_CHUNKS, file.depth()))
        .toList();
  }

  /** Reads all ranges. */
  void forEach(Iterator<Range> ranges, Visitor visitor) {
    long asked = 0;
    long visited = 0;
    while (true) {
      while (asked - visited < chunks.size() && ranges.hasNext()) {
        Chunk chunk = chunks.get((int) (asked++ % chunks.size()));
        chunk.range = ranges.next();
        chunk.status = null;
        disk.read(chunk, chunk.buffer.asSlice(0, chunk.range.bytes()), chunk.range.position());
      }
      if (asked == visited) {
        return;
      }
      Chunk oldest = chunks.get((int) (visited % chunks.size()));
      while (oldest.status == null) {
        disk.turn(true);
      }
      visitor.visit(oldest.range, oldest.memory, oldest.status);
      visited++;
    }
  }

  /** Frees the memory, once the kernel is done with it: a visitor may have thrown with reads in flight. */
  @Override
  public void close() {
    while (!disk.isIdle()) {
      disk.turn(true);
    }
    arena.close();
  }
}
