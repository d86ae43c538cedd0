package io.orbitkv.core.adapter;

import io.orbitkv.core.agent.AgentSocket;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The connections of one engine to its adapter. Each has a thread of its own.
 *
 * <p>Thread-safe.
 */
public final class Conversations implements AutoCloseable {

  private static final Logger LOG = System.getLogger(Conversations.class.getName());

  /** The workers of the largest instance come at the same time. */
  private static final int BACKLOG = 256;

  /** Those, and a scheduler, before and after it has connected again. */
  private static final int MAX_CONNECTIONS = 264;

  /** One connection, from its first word until nothing is held for it. */
  public interface Conversation {

    /** Answers until the other side leaves or this is closed. On the connection's thread, once. */
    void serve();

    /** Ends the connection, and with it a call under way. From any thread. */
    void close();
  }

  private final AgentSocket socket;
  private final Function<SocketChannel, Conversation> beginning;
  private final Object lock = new Object();
  private final Map<Conversation, Thread> open = new HashMap<>();
  private final Thread accepting;
  private boolean stopped;

  private Conversations(AgentSocket socket, Function<SocketChannel, Conversation> beginning) {
    this.socket = socket;
    this.beginning = beginning;
    this.accepting = Thread.ofPlatform().name("orbitkv-adapter").start(this::accept);
  }

  /**
   * Listens.
   *
   * @param path where, as {@link AgentSocket#listen}
   * @param beginning makes a conversation of a connection, which it takes over
   * @return the conversations, owned by the caller
   */
  public static Conversations listen(Path path, Function<SocketChannel, Conversation> beginning) {
    return new Conversations(AgentSocket.listen(path, BACKLOG), beginning);
  }

  /** Returns where it listens. */
  public Path socket() {
    return socket.path();
  }

  private void accept() {
    while (true) {
      SocketChannel accepted;
      try {
        accepted = socket.accept();
      } catch (IOException e) {
        if (!isStopped()) {
          LOG.log(Level.ERROR, "socket " + socket.path() + " accepts no connection any more: " + e);
        }
        return;
      }
      begin(beginning.apply(accepted));
    }
  }

  private boolean isStopped() {
    synchronized (lock) {
      return stopped;
    }
  }

  private void begin(Conversation conversation) {
    synchronized (lock) {
      if (!stopped && open.size() < MAX_CONNECTIONS) {
        open.put(conversation, Thread.ofPlatform().name("orbitkv-adapter-connection").start(() -> {
          try {
            conversation.serve();
          } finally {
            ended(conversation);
          }
        }));
        return;
      }
    }
    conversation.close();
  }

  private void ended(Conversation conversation) {
    synchronized (lock) {
      open.remove(conversation);
    }
  }

  /** Takes no more connections, ends those that there are, and waits for their threads. Idempotent. */
  public void stop() {
    List<Map.Entry<Conversation, Thread>> ending;
    synchronized (lock) {
      stopped = true;
      ending = List.copyOf(open.entrySet());
    }
    socket.stop();
    ending.forEach(entry -> entry.getKey().close());
    boolean interrupted = join(accepting);
    for (Map.Entry<Conversation, Thread> entry : ending) {
      interrupted |= join(entry.getValue());
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops, and lets another process have the path. */
  @Override
  public void close() {
    stop();
    socket.close();
  }

  /** Waits for a thread's end, and returns whether it was interrupted in that. */
  private static boolean join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    return interrupted;
  }
}
