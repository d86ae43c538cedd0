package io.orbitkv.backend.iouring.store;

import io.orbitkv.backend.iouring.file.Errno;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/** A store's file for looking at: transfers are done in {@link #poll}, one after the other, and nothing is written. */
final class ReadOnlyFile implements StoreFile {

  private static final int DEPTH = 4;

  private record Pending(long token, MemorySegment target, long position) {}

  private final FileChannel channel;
  private final Queue<Pending> pending = new ArrayDeque<>();

  ReadOnlyFile(Path path) throws IOException {
    this.channel = FileChannel.open(path, StandardOpenOption.READ);
  }

  @Override
  public int depth() {
    return DEPTH;
  }

  @Override
  public String register(List<MemorySegment> regions) {
    return "not registered";
  }

  @Override
  public void read(long token, MemorySegment target, long position) {
    pending.add(new Pending(token, target, position));
  }

  @Override
  public void write(long token, MemorySegment source, long position) {
    pending.add(new Pending(token, null, position));
  }

  @Override
  public void sync(long token) {
    pending.add(new Pending(token, null, 0));
  }

  @Override
  public int poll(Completions completions, boolean wait) {
    int ended = 0;
    while (!pending.isEmpty()) {
      Pending next = pending.remove();
      completions.completed(next.token(), next.target() == null ? -Errno.EROFS.number() : transfer(next));
      ended++;
    }
    return ended;
  }

  private int transfer(Pending read) {
    ByteBuffer target = read.target().asByteBuffer();
    try {
      while (target.hasRemaining() && channel.read(target, read.position() + target.position()) >= 0) {
        // Until it is full or the file ends.
      }
      return target.position();
    } catch (IOException e) {
      return -Errno.EIO.number();
    }
  }

  @Override
  public void wake() {
    // Nobody waits: whatever was asked for is done in poll.
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      // A file that was only read has nothing to lose.
    }
  }
}
