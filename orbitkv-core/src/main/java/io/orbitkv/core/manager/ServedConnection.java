package io.orbitkv.core.manager;

import io.orbitkv.core.wire.Connection;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Reply.Refusal;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/**
 * A connection and the thread that serves it. It waits for its own peer and for nobody else's; nothing is held while it
 * does.
 */
final class ServedConnection implements AutoCloseable {

  private static final long SILENCE_NANOS = Duration.ofSeconds(5).toNanos();

  private static final Logger LOG = System.getLogger(ServedConnection.class.getName());

  private final Manager manager;
  private final Connection connection;
  private final Conversation conversation;
  private final Thread thread;
  private final long acceptedAt = System.nanoTime();
  private volatile boolean greeted;

  ServedConnection(Manager manager, SocketChannel channel, long number) {
    this.manager = manager;
    this.connection = new Connection(channel, Protocol.MAX_FRAME_BYTES);
    this.conversation = new Conversation(manager);
    this.thread = Thread.ofPlatform().daemon().name("orbitkv-connection-" + number).unstarted(this::serve);
  }

  void start() {
    thread.start();
  }

  private void serve() {
    try (connection) {
      converse();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a connection ended: {0}", e.getMessage());
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "a connection is cut, since a request of it failed", e);
    } finally {
      conversation.broke();
      manager.ended(this);
    }
  }

  private void converse() throws IOException {
    while (true) {
      Request request;
      try {
        request = connection.receiveRequest();
      } catch (MalformedException e) {
        LOG.log(Level.WARNING, "a connection is cut, since it sent what is no message: {0}", e.getMessage());
        connection.send(new Reply.Refused(Refusal.REFUSED, e.getMessage()));
        return;
      }
      Reply reply = conversation.answer(request);
      connection.send(reply);
      if (!greeted && reply instanceof Reply.Refused refused) {
        LOG.log(Level.WARNING, "a connection is refused: {0}", refused.message());
        return;
      }
      greeted = true;
    }
  }

  /** Returns whether it has not said hello yet; cuts it if it has had the time to. */
  boolean isSilent() {
    if (greeted) {
      return false;
    }
    if (System.nanoTime() - acceptedAt > SILENCE_NANOS) {
      close();
    }
    return true;
  }

  void join(Duration limit) throws InterruptedException {
    thread.join(limit);
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a connection was not closed well: {0}", e.getMessage());
    }
  }
}
