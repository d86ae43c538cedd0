package io.orbitkv.core.agent;

import io.orbitkv.core.wire.Frames;
import io.orbitkv.core.wire.UnixSocket;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Either end of a connection between an engine worker and its agent. Used by one thread at a time; any thread may close
 * it, which ends a call under way.
 *
 * <p>Receiving throws {@link java.io.EOFException} when the other side has closed, and {@link
 * io.orbitkv.core.wire.MalformedException} for anything that is no message of this protocol.
 */
final class AgentConnection implements AutoCloseable {

  private final Frames frames;

  AgentConnection(SocketChannel channel) {
    this.frames = new Frames(channel, AgentProtocol.MAX_FRAME_BYTES);
  }

  /**
   * Connects to an agent, as an engine worker.
   *
   * @param socket the agent's socket
   * @param limit how long a connection may take that nobody accepts
   * @throws IOException if none listens there
   */
  static AgentConnection to(Path socket, Duration limit) throws IOException {
    return new AgentConnection(UnixSocket.connect(socket, limit));
  }

  /**
   * Sends a request and waits for the reply.
   *
   * @param limit for both together
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  AgentReply call(AgentRequest request, Duration limit) throws IOException {
    AgentRequestCodec.write(request, frames.begin());
    return AgentReplyCodec.read(frames.exchange(limit));
  }

  AgentRequest receive() throws IOException {
    return AgentRequestCodec.read(frames.receive());
  }

  /**
   * As {@link #receive()}, but only so long.
   *
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  AgentRequest receive(Duration limit) throws IOException {
    return AgentRequestCodec.read(frames.receive(limit));
  }

  /** From now on it waits as long as it takes. */
  void dropLimits() throws IOException {
    frames.dropLimits();
  }

  void send(AgentReply reply) throws IOException {
    AgentReplyCodec.write(reply, frames.begin());
    frames.send();
  }

  @Override
  public void close() throws IOException {
    frames.close();
  }
}
