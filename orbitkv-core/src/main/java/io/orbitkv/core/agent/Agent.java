package io.orbitkv.core.agent;

import io.orbitkv.core.wire.Dialogue;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Serves one engine worker at a time over a private socket. A connection is accepted when every copy for the one before
 * is drained, so an engine that is welcomed knows that nothing touches pages of its earlier connections.
 *
 * <p>Thread-safe.
 */
public final class Agent implements AutoCloseable {

  private static final Logger LOG = System.getLogger(Agent.class.getName());

  /** An agent serves one engine; a few more may wait while copies for the one before drain. */
  private static final int BACKLOG = 4;

  private final AgentOptions options;
  private final Duration openLimit;
  private final AgentSocket socket;
  private final FaultLog faults = new FaultLog(LOG, System::nanoTime);
  private final Object lock = new Object();
  private final Thread thread;
  private Dialogue<AgentRequest, AgentReply> serving;
  private boolean closing;

  private Agent(AgentOptions options, Duration openLimit) {
    this.options = options;
    this.openLimit = openLimit;
    this.socket = AgentSocket.listen(options.socket(), BACKLOG);
    this.thread = Thread.ofPlatform().name("orbitkv-agent").start(this::serve);
  }

  /**
   * Starts to listen.
   *
   * @param options what it works with; the device and the cache must outlive the agent
   * @return the agent
   * @throws io.orbitkv.api.RefusedException if the socket's place is not private or its path too long
   * @throws io.orbitkv.api.UnavailableException if the socket cannot be made
   */
  public static Agent start(AgentOptions options) {
    return start(options, AgentProtocol.OPEN_LIMIT);
  }

  /**
   * As {@link #start(AgentOptions)}, with another limit.
   *
   * @param openLimit how long an engine may wait with its hello, and after that with what it opens
   */
  static Agent start(AgentOptions options, Duration openLimit) {
    return new Agent(options, openLimit);
  }

  /** Returns where it listens. */
  public Path socket() {
    return socket.path();
  }

  private void serve() {
    while (true) {
      Dialogue<AgentRequest, AgentReply> connection;
      try {
        SocketChannel accepted = socket.accept();
        connection = AgentProtocol.dialogue(accepted);
      } catch (IOException e) {
        if (!isClosing()) {
          LOG.log(Level.ERROR, "socket " + socket.path() + " accepts no connection any more: " + e);
        }
        return;
      }
      if (!begin(connection)) {
        return;
      }
      new EngineConnection(options, openLimit, connection, faults).serve();
    }
  }

  private boolean isClosing() {
    synchronized (lock) {
      return closing;
    }
  }

  /** Returns whether the connection is to be served; one that comes while the agent closes is closed. */
  private boolean begin(Dialogue<AgentRequest, AgentReply> connection) {
    synchronized (lock) {
      if (!closing) {
        serving = connection;
        return true;
      }
    }
    close(connection);
    return false;
  }

  /**
   * Takes no more requests, and returns when every copy is drained, every grant has ended and the session is closed: a
   * copy that runs is never left to itself, so this has no limit of its own. Idempotent.
   */
  @Override
  public void close() {
    Dialogue<AgentRequest, AgentReply> served;
    synchronized (lock) {
      closing = true;
      served = serving;
    }
    socket.stop();
    if (served != null) {
      close(served);
    }
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    socket.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void close(Dialogue<AgentRequest, AgentReply> connection) {
    try {
      connection.close();
    } catch (IOException e) {
      faults.fault("an engine's connection was not closed", e);
    }
  }
}
