package io.orbitkv.cli.chaos;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A socket before another socket, whose connections can be cut while both ends live. It lies in the same folder, since
 * what a Manager names lies beside the socket that is connected to.
 */
public final class Relay implements AutoCloseable {

  private static final int BUFFER_BYTES = 64 << 10;

  private final Path socket;
  private final Path target;
  private final ServerSocketChannel listening;
  private final Set<SocketChannel> open = ConcurrentHashMap.newKeySet();

  /**
   * Listens.
   *
   * @param socket where; must not exist
   * @param target what is connected to for each connection
   */
  public Relay(Path socket, Path target) {
    this.socket = socket;
    this.target = target;
    try {
      this.listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
      listening.bind(UnixDomainSocketAddress.of(socket));
    } catch (IOException e) {
      throw new UnavailableException("cannot listen at " + socket + ": " + e.getMessage(), e);
    }
    Thread.ofPlatform().daemon().name("relay " + socket.getFileName()).start(this::accept);
  }

  /** Returns where it listens. */
  public Path socket() {
    return socket;
  }

  /** Cuts every connection, in both directions at once. */
  public void cut() {
    open.forEach(this::drop);
  }

  private void accept() {
    while (listening.isOpen()) {
      try {
        SocketChannel near = listening.accept();
        SocketChannel far;
        try {
          far = SocketChannel.open(UnixDomainSocketAddress.of(target));
        } catch (IOException e) {
          // Nobody listens there at present: the same is seen here.
          drop(near);
          continue;
        }
        open.add(near);
        open.add(far);
        pump(near, far);
        pump(far, near);
      } catch (IOException e) {
        // Closed, which the loop's condition sees.
      }
    }
  }

  private void pump(SocketChannel from, SocketChannel to) {
    Thread.ofPlatform().daemon().name("relay pump").start(() -> {
      ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
      try {
        while (from.read(buffer.clear()) >= 0) {
          buffer.flip();
          while (buffer.hasRemaining()) {
            to.write(buffer);
          }
        }
      } catch (IOException e) {
        // Cut, here or at the other end.
      }
      drop(from);
      drop(to);
    });
  }

  private void drop(SocketChannel channel) {
    open.remove(channel);
    try {
      channel.close();
    } catch (IOException e) {
      throw new UnavailableException("a relayed connection cannot be closed: " + e.getMessage(), e);
    }
  }

  @Override
  public void close() {
    try {
      listening.close();
      Files.deleteIfExists(socket);
    } catch (IOException e) {
      throw new UnavailableException("the relay at " + socket + " cannot be closed: " + e.getMessage(), e);
    }
    cut();
  }
}
