package io.orbitkv.core.wire;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/**
 * Either end of a connection between a Manager and a member of an engine instance. A member sends a request and
 * receives the reply; a Manager receives a request and sends the reply.
 *
 * <p>The chain of a {@link Request.Query} that was received lies in the connection's buffer, since a lookup reads a few
 * of its hashes and a copy would cost more than the lookup: it is good until something else is received or sent. Every
 * other message is the caller's to keep.
 *
 * <p>Used by one thread at a time; any thread may close it, which ends a call under way with an {@link IOException}.
 * Receiving throws {@link EOFException} when the other side has closed between two frames, and {@link
 * MalformedException} for anything that is no message of this protocol, after which nothing but closing is left.
 * Sending throws {@link io.orbitkv.api.RefusedException}, and sends nothing, if the message is longer than a frame may
 * be.
 */
public final class Connection implements AutoCloseable {

  private final Frames frames;

  /**
   * Takes over a channel.
   *
   * @param channel connected and blocking; closed with this
   * @param maxFrameBytes most bytes of a message, either way, as {@link Protocol#MAX_FRAME_BYTES}
   */
  public Connection(SocketChannel channel, int maxFrameBytes) {
    this.frames = new Frames(channel, maxFrameBytes);
  }

  /** Sends a request. */
  public void send(Request request) throws IOException {
    RequestCodec.write(request, frames.begin());
    frames.send();
  }

  /** Sends a reply. */
  public void send(Reply reply) throws IOException {
    ReplyCodec.write(reply, frames.begin());
    frames.send();
  }

  /** Waits for a request. */
  public Request receiveRequest() throws IOException {
    return RequestCodec.read(frames.receive());
  }

  /** Waits for a request, but only so long; when the limit has passed, the connection is closed. */
  public Request receiveRequest(Duration limit) throws IOException {
    return RequestCodec.read(frames.receive(limit));
  }

  /** Waits for a reply. */
  public Reply receiveReply() throws IOException {
    return ReplyCodec.read(frames.receive());
  }

  /**
   * Waits for a reply, but only so long.
   *
   * @throws SocketTimeoutException if the limit has passed; the connection is closed
   */
  public Reply receiveReply(Duration limit) throws IOException {
    return ReplyCodec.read(frames.receive(limit));
  }

  /**
   * Sends a request and waits for the reply.
   *
   * @param limit for both together
   * @throws SocketTimeoutException if the limit has passed; the connection is closed
   */
  public Reply call(Request request, Duration limit) throws IOException {
    RequestCodec.write(request, frames.begin());
    return ReplyCodec.read(frames.exchange(limit));
  }

  @Override
  public void close() throws IOException {
    frames.close();
  }
}
