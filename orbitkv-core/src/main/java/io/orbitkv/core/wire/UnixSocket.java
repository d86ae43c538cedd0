package io.orbitkv.core.wire;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Connects to Unix sockets in limited time. */
public final class UnixSocket {

  private static final long PAUSE_NANOS = Duration.ofMillis(5).toNanos();

  private UnixSocket() {}

  /**
   * Connects. Whoever listens but does not accept, as a process that is stopped, is waited for no longer than said: once
   * its backlog is full, a blocking connect would wait for it without end.
   *
   * @param socket where
   * @param limit how long
   * @return a channel, connected and blocking
   * @throws SocketTimeoutException if the backlog was full until the limit had passed
   * @throws IOException if nobody listens there
   */
  public static SocketChannel connect(Path socket, Duration limit) throws IOException {
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(socket);
    long deadline = System.nanoTime() + limit.toNanos();
    while (true) {
      SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
      try {
        channel.configureBlocking(false);
        channel.connect(address);
        channel.configureBlocking(true);
        return channel;
      } catch (ConnectException e) {
        channel.close();
        throw e;
      } catch (SocketException e) {
        // A channel that failed to connect is closed, so each try takes another.
        channel.close();
        if (!Files.isWritable(socket)) {
          throw e;
        }
        // There is a socket that this process may use, and it was not refused: the backlog is full.
        awaitRoom(deadline, e);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw e;
      }
    }
  }

  private static void awaitRoom(long deadline, SocketException full) throws IOException {
    if (System.nanoTime() - deadline >= 0) {
      SocketTimeoutException late = new SocketTimeoutException("nobody accepted the connection within the limit");
      late.initCause(full);
      throw late;
    }
    LockSupport.parkNanos(PAUSE_NANOS);
    if (Thread.currentThread().isInterrupted()) {
      throw new ClosedByInterruptException();
    }
  }
}
