package io.orbitkv.cli.bench;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The least that a request over a Unix socket can cost: reads as many bytes as a request has, and answers with as many
 * as its reply has, without a look at them. The client says both numbers first, as two big-endian integers: bytes of an
 * answer, bytes of a request. Serves one client, on a platform thread as the Manager does.
 */
final class EchoServer implements AutoCloseable {

  private final Path socket;
  private final ServerSocketChannel listening;
  private final Thread thread;

  /**
   * Listens.
   *
   * @param socket where; must not exist
   */
  EchoServer(Path socket) {
    this.socket = socket;
    try {
      this.listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
      listening.bind(UnixDomainSocketAddress.of(socket));
    } catch (IOException e) {
      throw new UnavailableException("cannot listen at " + socket + ": " + e.getMessage(), e);
    }
    this.thread = Thread.ofPlatform().daemon().name("orbitkv-echo").start(this::serve);
  }

  Path socket() {
    return socket;
  }

  private void serve() {
    try (SocketChannel client = listening.accept()) {
      ByteBuffer sizes = ByteBuffer.allocate(2 * Integer.BYTES);
      if (!fill(client, sizes)) {
        return;
      }
      ByteBuffer answer = ByteBuffer.allocateDirect(sizes.getInt(0));
      ByteBuffer request = ByteBuffer.allocateDirect(sizes.getInt(Integer.BYTES));
      while (fill(client, request.clear())) {
        answer.clear();
        while (answer.hasRemaining()) {
          client.write(answer);
        }
      }
    } catch (AsynchronousCloseException e) {
      // Nobody came before the end.
    } catch (IOException e) {
      System.getLogger(EchoServer.class.getName()).log(System.Logger.Level.WARNING, "the echo ended: {0}", e.getMessage());
    }
  }

  /** Returns whether the buffer was filled before the client's end. */
  private static boolean fill(SocketChannel client, ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      if (client.read(buffer) < 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void close() {
    try {
      listening.close();
      Files.deleteIfExists(socket);
    } catch (IOException e) {
      throw new UnavailableException("the echo at " + socket + " cannot be closed: " + e.getMessage(), e);
    }
  }
}
