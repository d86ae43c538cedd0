package io.orbitkv.core.client;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.wire.Connection;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Request;
import io.orbitkv.core.wire.Software;
import io.orbitkv.core.wire.UnixSocket;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A connection to a Manager that has greeted. One request is under way at a time; others wait for it, no longer than a
 * request may take. Once broken it stays so.
 *
 * <p>Thread-safe.
 */
final class Line implements AutoCloseable {

  private final Connection connection;
  private final Duration deadline;
  private final ReentrantLock turn = new ReentrantLock();
  private Reply.Welcome welcome;
  private volatile boolean broken;
  private volatile long lastUse = System.nanoTime();

  private Line(Connection connection, Duration deadline) {
    this.connection = connection;
    this.deadline = deadline;
  }

  /**
   * Connects and greets.
   *
   * @param deadline for connecting, and for each request from then on
   * @throws IOException if no Manager answers in time
   * @throws RefusedException if it speaks another protocol
   * @throws UnavailableException if it takes no connection at present
   */
  static Line connect(Path socket, Duration deadline) throws IOException {
    SocketChannel channel = UnixSocket.connect(socket, deadline);
    Line line = new Line(new Connection(channel, Protocol.MAX_FRAME_BYTES), deadline);
    try {
      line.welcome = line.greet();
      return line;
    } catch (IOException | RuntimeException e) {
      line.close();
      throw e;
    }
  }

  private Reply.Welcome greet() throws IOException {
    Reply reply = call(new Request.Hello(Protocol.VERSION, Software.name(), ProcessHandle.current().pid(),
        pidNamespace(), Protocol.probe()));
    return switch (reply) {
      case Reply.Welcome greeting when greeting.protocol() == Protocol.VERSION -> greeting;
      case Reply.Welcome greeting -> throw new RefusedException("'" + greeting.software() + "' speaks protocol "
          + greeting.protocol() + ", and '" + Software.name() + "' speaks " + Protocol.VERSION
          + "; install the same release on both sides");
      case Reply.Refused refused -> throw error(refused);
      default -> throw unexpected(reply);
    };
  }

  /** In the same pid namespace as the Manager, a pid is enough for it to know of a death. */
  private static long pidNamespace() {
    try {
      String link = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
      return Long.parseLong(link.substring(link.indexOf('[') + 1, link.indexOf(']')));
    } catch (IOException | RuntimeException e) {
      return 0;
    }
  }

  Reply.Welcome welcome() {
    return welcome;
  }

  /** Sends a request and returns its reply, in the usual time. */
  Reply call(Request request) throws IOException {
    return call(request, deadline);
  }

  /**
   * Sends a request and returns its reply.
   *
   * @param limit for waiting for others and for the reply, each
   * @throws IOException if the line is broken, or is now
   */
  Reply call(Request request, Duration limit) throws IOException {
    try {
      if (!turn.tryLock(limit.toNanos(), TimeUnit.NANOSECONDS)) {
        throw new IOException("other requests took longer than " + limit.toMillis() + " ms");
      }
    } catch (InterruptedException e) {
      // The caller of a short request need not know of interruption, and finds it where it waits for longer.
      Thread.currentThread().interrupt();
      throw new IOException("interrupted before the request was sent", e);
    }
    try {
      if (broken) {
        throw new IOException("the connection to the Manager is broken");
      }
      Reply reply = connection.call(request, limit);
      lastUse = System.nanoTime();
      return reply;
    } catch (IOException e) {
      close();
      throw e;
    } finally {
      turn.unlock();
    }
  }

  /** Returns how long nothing was received, in nanoseconds. */
  long idleNanos() {
    return System.nanoTime() - lastUse;
  }

  boolean isBroken() {
    return broken;
  }

  @Override
  public void close() {
    broken = true;
    try {
      connection.close();
    } catch (IOException e) {
      // It is of no use any more either way.
      broken = true;
    }
  }

  /**
   * Returns a refusal as the exception that an embedded cache would throw. A Manager that is closing is unavailable: the
   * next one may take what this one did not.
   */
  static RuntimeException error(Reply.Refused refused) {
    return switch (refused.refusal()) {
      case REFUSED, SUPERSEDED -> new RefusedException(refused.message());
      case CLOSED, UNAVAILABLE -> new UnavailableException(refused.message());
    };
  }

  /** Returns what to throw at a reply that answers another request. */
  IOException unexpected(Reply reply) {
    close();
    return new IOException("the Manager replied with " + reply.getClass().getSimpleName() + ", which is no answer");
  }
}
