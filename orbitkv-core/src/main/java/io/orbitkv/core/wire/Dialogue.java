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

  private final Frames frames;
  private final Grammar<Q, A> grammar;

  /**
   * Takes over a channel.
   *
   * @param channel connected and blocking; closed with this
   * @param grammar how what is said on it is written
   */
  public Dialogue(SocketChannel channel, Grammar<Q, A> grammar) {
    this.frames = new Frames(channel, grammar.maxFrameBytes());
    this.grammar = grammar;
  }

  /**
   * Sends a request and waits for the reply.
   *
   * @param limit for both together
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  public A call(Q request, Duration limit) throws IOException {
    grammar.writeRequest(request, frames.begin());
    return grammar.readReply(frames.exchange(limit));
  }

  /** Waits for a request. */
  public Q receive() throws IOException {
    return grammar.readRequest(frames.receive());
  }

  /**
   * As {@link #receive()}, but only so long.
   *
   * @throws java.net.SocketTimeoutException if the limit has passed; the connection is closed
   */
  public Q receive(Duration limit) throws IOException {
    return grammar.readRequest(frames.receive(limit));
  }

  /** From now on it waits as long as it takes. */
  public void dropLimits() throws IOException {
    frames.dropLimits();
  }

  /** Answers the request that was received. */
  public void answer(A reply) throws IOException {
    grammar.writeReply(reply, frames.begin());
    frames.send();
  }

  @Override
  public void close() throws IOException {
    frames.close();
  }
}
