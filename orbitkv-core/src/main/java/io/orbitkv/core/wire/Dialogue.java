package io.orbitkv.core.wire;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/**
 * Either end of a connection on which one side asks and the other answers, in turns. Used by one thread at a time; any
 * thread may close it, which ends a call under way.
 *
 * <p>Receiving throws {@link java.io.EOFException} when the other side has closed, and {@link MalformedException} for
 * anything that is no message of the protocol. Sending throws {@link io.orbitkv.api.RefusedException}, and sends nothing,
 * if the message is longer than a frame may be.
 *
 * @param <Q> requests
 * @param <A> replies
 */
public final class Dialogue<Q, A> implements AutoCloseable {

  /**
   * How messages are written.
   *
   * @param <M> messages
   */
  @FunctionalInterface
  public interface Writing<M> {

    /** Writes a message. */
    void write(M message, PackWriter out);
  }

  /**
   * How messages are read.
   *
   * @param <M> messages
   */
  @FunctionalInterface
  public interface Reading<M> {

    /**
     * Reads a message.
     *
     * @throws MalformedException if it is none of the protocol
     */
    M read(PackReader in) throws MalformedException;
  }

  private final Frames frames;
  private final Writing<Q> writeRequest;
  private final Reading<Q> readRequest;
  private final Writing<A> writeReply;
  private final Reading<A> readReply;

  /**
   * Takes over a channel.
   *
   * @param channel connected and blocking; closed with this
   * @param maxFrameBytes most bytes of a message, either way
   * @param writeRequest how a request is written
   * @param readRequest how one is read
   * @param writeReply how a reply is written
   * @param readReply how one is read
   */
  public Dialogue(SocketChannel channel, int maxFrameBytes, Writing<Q> writeRequest, Reading<Q> readRequest,
      Writing<A> writeReply, Reading<A> readReply) {
    this.frames = new Frames(channel, maxFrameBytes);
    this.writeRequest = writeRequest;
    this.readRequest = readRequest;
    this.writeReply = writeReply;
    this.readReply = readReply;
  }

  /**
   * Sends a request and waits for the reply.
   *
   * @param limit for both together
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  public A call(Q request, Duration limit) throws IOException {
    writeRequest.write(request, frames.begin());
    return readReply.read(frames.exchange(limit));
  }

  /** Waits for a request. */
  public Q receive() throws IOException {
    return readRequest.read(frames.receive());
  }

  /**
   * As {@link #receive()}, but only so long.
   *
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  public Q receive(Duration limit) throws IOException {
    return readRequest.read(frames.receive(limit));
  }

  /** From now on it waits as long as it takes. */
  public void dropLimits() throws IOException {
    frames.dropLimits();
  }

  /** Answers the request that was received. */
  public void answer(A reply) throws IOException {
    writeReply.write(reply, frames.begin());
    frames.send();
  }

  @Override
  public void close() throws IOException {
    frames.close();
  }
}
