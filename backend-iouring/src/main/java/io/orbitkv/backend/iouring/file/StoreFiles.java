package io.orbitkv.backend.iouring.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

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

  /**
   * Extends an existing file to a length, so that every new byte is zero and has its place on the disk: a later write in
   * it needs no space. This way writes the zeros, at the speed of the disk; an implementation that can ask the file
   * system for the space does that instead.
   *
   * @param path the file
   * @param bytes the length that it shall have, a multiple of 4,096; no effect if it is that long already
   * @throws IOException if the space is not there; the file may then be longer than before
   */
  default void extend(Path path, long bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      long position = channel.size();
      if (position >= bytes) {
        return;
      }
      ByteBuffer zeros = ByteBuffer.allocateDirect(4 << 20);
      // The last page first: some file systems allocate far ahead of a growing end, beyond what was asked for.
      zeros.limit(4096);
      writeFully(channel, zeros, bytes - 4096);
      while (position < bytes) {
        zeros.clear().limit((int) Math.min(zeros.capacity(), bytes - position));
        int length = zeros.remaining();
        writeFully(channel, zeros, position);
        position += length;
      }
    }
  }

  private static void writeFully(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
    long at = position;
    while (bytes.hasRemaining()) {
      at += channel.write(bytes, at);
    }
  }
}
