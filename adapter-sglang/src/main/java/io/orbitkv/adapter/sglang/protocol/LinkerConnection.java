package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.core.wire.Frames;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Either end of a connection between a linker and the adapter. Used by one thread at a time; any thread may close
 * it, which ends a call under way.
 *
 * <p>Receiving throws {@link java.io.EOFException} when the other side has closed, and {@link
 * io.orbitkv.core.wire.MalformedException} for anything that is no message of this protocol.
 */
public final class LinkerConnection implements AutoCloseable {

  private final Frames frames;

  /**
   * Takes over a channel.
   *
   * @param channel connected and blocking; closed with this
   */
  public LinkerConnection(SocketChannel channel) {
    this.frames = new Frames(channel, LinkerProtocol.MAX_FRAME_BYTES);
  }

  /**
   * Connects to an adapter, as a linker does.
   *
   * @param socket the adapter's socket
   * @return the connection
   * @throws IOException if none listens there
   */
  public static LinkerConnection to(Path socket) throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(socket));
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    return new LinkerConnection(channel);
  }

  /**
   * Sends a request and waits for the reply.
   *
   * @param limit for both together
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  public LinkerReply call(LinkerRequest request, Duration limit) throws IOException {
    LinkerRequestCodec.write(request, frames.begin());
    return LinkerReplyCodec.read(frames.exchange(limit));
  }

  /** Waits for a request. */
  public LinkerRequest receive() throws IOException {
    return LinkerRequestCodec.read(frames.receive());
  }

  /** Sends a reply. */
  public void send(LinkerReply reply) throws IOException {
    LinkerReplyCodec.write(reply, frames.begin());
    frames.send();
  }

  @Override
  public void close() throws IOException {
    frames.close();
  }
}
