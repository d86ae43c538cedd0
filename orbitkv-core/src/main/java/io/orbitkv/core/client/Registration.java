package io.orbitkv.core.client;

import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * One registration with one Manager: a line, this process's mapping of that Manager's arena, and the witness of its life.
 * It outlives the line: grants that were given under it may be in use until their holders end them.
 *
 * <p>Thread-safe.
 */
final class Registration {

  private final Line line;
  private final Reply.Registered registered;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory;
  private final HostRegion region;
  private final FileChannel witness;
  private final Runnable ended;
  /** Grants that are held, and requests under way that may bring one. */
  private int held;
  private boolean retired;

  private Registration(Line line, Reply.Registered registered, ManagerClient client, Runnable ended)
      throws IOException {
    this.line = line;
    this.registered = registered;
    this.ended = ended;
    Path folder = client.folder();
    Reply.Welcome welcome = line.welcome();
    try (FileChannel file = FileChannel.open(
        folder.resolve(welcome.arena()), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      this.memory = file.map(FileChannel.MapMode.READ_WRITE, 0, welcome.arenaBytes(), arena);
    }
    FileChannel opened = null;
    try {
      opened = FileChannel.open(folder.resolve(registered.witness()), StandardOpenOption.WRITE);
      // Held by the channel: released when that is closed, or by the kernel when this process has exited.
      FileLock lock = opened.tryLock();
      if (lock == null) {
        throw new IOException("witness " + registered.witness() + " is locked by another process");
      }
      this.witness = opened;
      this.region = client.mapped(memory);
    } catch (IOException | RuntimeException e) {
      if (opened != null) {
        opened.close();
      }
      arena.close();
      throw e;
    }
  }

  /**
   * Registers over a line, which is this registration's from then on.
   *
   * @param ended called when nothing of it is in use any more, after it was retired
   * @throws io.orbitkv.api.RefusedException if the Manager does not take this member
   * @throws io.orbitkv.api.UnavailableException if it takes none at present
   */
  static Registration over(
      Line line, ManagerClient client, SessionSpec spec, Membership membership, Runnable ended) throws IOException {
    Reply reply = line.call(new Request.Register(spec.instance(), membership.incarnation(), spec.namespace().digest(),
        spec.layout().ranks(), spec.layout().shardBytes(), spec.blockTokens(), membership.member()));
    return switch (reply) {
      case Reply.Registered registered -> new Registration(line, registered, client, ended);
      case Reply.Refused refused -> throw Line.error(refused);
      default -> throw line.unexpected(reply);
    };
  }

  Line line() {
    return line;
  }

  long generation() {
    return registered.generation();
  }

  long member() {
    return registered.member();
  }

  /** Returns the incarnation of the Manager. */
  long manager() {
    return line.welcome().incarnation();
  }

  /** Returns a shard. Only for the holder of a grant. */
  MemorySegment shard(long at, int bytes) {
    return memory.asSlice(at, bytes);
  }

  /** Keeps the mapping for a grant, or for a request that may bring one; false if it is retired. */
  synchronized boolean hold() {
    if (retired) {
      return false;
    }
    held++;
    return true;
  }

  /** Ends a {@link #hold}. */
  void release() {
    boolean last;
    synchronized (this) {
      last = --held == 0 && retired;
    }
    if (last) {
      end();
    }
  }

  /** Takes no more grants; once those that are held have ended, gives everything back. */
  void retire() {
    boolean last;
    synchronized (this) {
      last = held == 0 && !retired;
      retired = true;
    }
    if (last) {
      end();
    }
  }

  private void end() {
    region.close();
    arena.close();
    ended.run();
  }

  /** Gives up the line and the witness. After everything has ended. */
  void close() {
    line.close();
    try {
      witness.close();
    } catch (IOException e) {
      // The kernel drops the lock with the file in any case.
      return;
    }
  }
}
