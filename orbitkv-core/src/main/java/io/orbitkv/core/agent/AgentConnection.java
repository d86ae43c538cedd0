package io.orbitkv.core.agent;

import io.orbitkv.core.wire.Frames;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
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
   * @throws IOException if none listens there
   */
  static AgentConnection to(Path socket) throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(socket));
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    return new AgentConnection(channel);
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

  void send(AgentReply reply) throws IOException {
    AgentReplyCodec.write(reply, frames.begin());
    frames.send();
  }

  @Override
  public void close() throws IOException {
    frames.close();
  }
}
