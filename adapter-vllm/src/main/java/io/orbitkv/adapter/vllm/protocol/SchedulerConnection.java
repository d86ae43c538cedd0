package io.orbitkv.adapter.vllm.protocol;

import io.orbitkv.core.wire.Frames;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Either end of a connection between the connector and the adapter. Used by one thread at a time; any thread may close
 * it, which ends a call under way.
 *
 * <p>Receiving throws {@link java.io.EOFException} when the other side has closed, and {@link
 * io.orbitkv.core.wire.MalformedException} for anything that is no message of this protocol.
 */
public final class SchedulerConnection implements AutoCloseable {

  private final Frames frames;

  /**
   * Takes over a channel.
   *
   * @param channel connected and blocking; closed with this
   */
  public SchedulerConnection(SocketChannel channel) {
    this.frames = new Frames(channel, SchedulerProtocol.MAX_FRAME_BYTES);
  }

  /**
   * Connects to an adapter, as the connector does.
   *
   * @param socket the adapter's socket
   * @return the connection
   * @throws IOException if none listens there
   */
  public static SchedulerConnection to(Path socket) throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(socket));
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    return new SchedulerConnection(channel);
  }

  /**
   * Sends a request and waits for the reply.
   *
   * @param limit for both together
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  public SchedulerReply call(SchedulerRequest request, Duration limit) throws IOException {
    SchedulerRequestCodec.write(request, frames.begin());
    return SchedulerReplyCodec.read(frames.exchange(limit));
  }

  /** Waits for a request. */
  public SchedulerRequest receive() throws IOException {
    return SchedulerRequestCodec.read(frames.receive());
  }

  /** Sends a reply. */
  public void send(SchedulerReply reply) throws IOException {
    SchedulerReplyCodec.write(reply, frames.begin());
    frames.send();
  }

  @Override
  public void close() throws IOException {
    frames.close();
  }
}
