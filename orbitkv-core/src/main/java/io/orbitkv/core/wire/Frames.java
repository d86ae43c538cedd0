package io.orbitkv.core.wire;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/**
 * The frames of one connection: four bytes of length, big-endian, and a message. There is one buffer, because the two
 * sides take turns: what was received is read before something is written.
 *
 * <p>Used by one thread at a time; any thread may close it, which ends a call under way. Without a limit a call blocks
 * in the channel itself. The first call with a limit makes the channel non-blocking, from when on calls wait in a
 * selector, until {@link #dropLimits}.
 */
public final class Frames implements AutoCloseable {

  private final SocketChannel channel;
  private final int maxBytes;
  private final GrowingBuffer buffer;
  private final PackWriter writer;
  private volatile Selector selector;
  private SelectionKey key;

  /**
   * Takes over a channel.
   *
   * @param channel connected and blocking; closed with this
   * @param maxBytes most bytes of a message, either way
   */
  public Frames(SocketChannel channel, int maxBytes) {
    this.channel = channel;
    this.maxBytes = maxBytes;
    this.buffer = new GrowingBuffer(Math.addExact(Integer.BYTES, maxBytes));
    this.writer = new PackWriter(buffer);
  }

  /** Begins a frame. What was received before is gone. */
  public PackWriter begin() {
    buffer.bytes().clear().putInt(0);
    return writer;
  }

  /** Sends the frame that was begun. */
  public void send() throws IOException {
    send(Deadline.NONE);
  }

  /**
   * Receives a frame.
   *
   * @return its message, to be read before the next frame is begun or received
   * @throws EOFException if the other side closed, with no frame begun
   * @throws MalformedException if it is too long, or broken off, or followed by more
   */
  public PackReader receive() throws IOException {
    return receive(Deadline.NONE);
  }

  /**
   * Sends the frame that was begun and receives the answer.
   *
   * @param limit for both together; when it has passed, the connection is closed, so that a late answer is not taken
   *     for that to the next request
   * @return the answer, to be read before the next frame is begun or received
   * @throws SocketTimeoutException if the limit has passed
   */
  public PackReader exchange(Duration limit) throws IOException {
    Deadline deadline = Deadline.in(limit);
    send(deadline);
    return receive(deadline);
  }

  /** As {@link #receive()}, but only so long; when the limit has passed, the connection is closed. */
  public PackReader receive(Duration limit) throws IOException {
    return receive(Deadline.in(limit));
  }

  /** Goes back to calls without a limit that block in the channel itself, which costs less than a selector. */
  public void dropLimits() throws IOException {
    Selector waiting = selector;
    if (waiting != null) {
      waiting.close();
      selector = null;
      channel.configureBlocking(true);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
    Selector waiting = selector;
    if (waiting != null) {
      waiting.close();
    }
  }

  private void send(Deadline deadline) throws IOException {
    ByteBuffer frame = buffer.bytes();
    frame.putInt(0, frame.position() - Integer.BYTES).flip();
    limit(deadline);
    while (frame.hasRemaining()) {
      if (channel.write(frame) == 0) {
        await(SelectionKey.OP_WRITE, deadline);
      }
    }
  }

  private PackReader receive(Deadline deadline) throws IOException {
    limit(deadline);
    ByteBuffer in = buffer.bytes().clear();
    while (in.position() < Integer.BYTES) {
      read(in, Integer.BYTES, deadline);
    }
    int length = in.getInt(0);
    if (length < 1 || length > maxBytes) {
      throw new MalformedException(
          "frame: expected 1 to " + maxBytes + " bytes, found " + Integer.toUnsignedString(length));
    }
    int end = Integer.BYTES + length;
    while (in.position() < end) {
      in = buffer.room(1);
      read(in, end, deadline);
    }
    if (in.position() > end) {
      throw new MalformedException("frame: " + (in.position() - end) + " bytes behind it, before it was answered");
    }
    return new PackReader(in.flip().position(Integer.BYTES));
  }

  private void read(ByteBuffer in, int end, Deadline deadline) throws IOException {
    int count = channel.read(in);
    if (count == 0) {
      await(SelectionKey.OP_READ, deadline);
    } else if (count < 0 && in.position() == 0) {
      throw new EOFException("the other side closed the connection");
    } else if (count < 0) {
      throw new MalformedException("frame: expected " + end + " bytes, found its end after " + in.position());
    }
  }

  private void limit(Deadline deadline) throws IOException {
    if (deadline != Deadline.NONE && selector == null) {
      Selector opened = Selector.open();
      try {
        channel.configureBlocking(false);
        key = channel.register(opened, 0);
        selector = opened;
      } finally {
        if (selector == null || !channel.isOpen()) {
          opened.close();
        }
      }
    }
  }

  /** Waits until the channel can read or write. Only a channel with a selector ever has to. */
  private void await(int operation, Deadline deadline) throws IOException {
    try {
      long millis = deadline.millisLeft();
      if (millis == 0) {
        close();
        throw new SocketTimeoutException("no answer within the limit; the connection is closed");
      }
      key.interestOps(operation);
      selector.selectedKeys().clear();
      selector.select(deadline == Deadline.NONE ? 0 : millis);
    } catch (ClosedSelectorException | CancelledKeyException _) {
      throw new AsynchronousCloseException();
    }
    if (Thread.currentThread().isInterrupted()) {
      close();
      throw new ClosedByInterruptException();
    }
  }

  /** A moment in {@link System#nanoTime}. */
  private record Deadline(long nanos) {

    private static final Deadline NONE = new Deadline(0);

    static Deadline in(Duration limit) {
      return new Deadline(System.nanoTime() + limit.toNanos());
    }

    /** Returns the time left, rounded up; zero when none is. */
    long millisLeft() {
      return this == NONE ? Long.MAX_VALUE : Math.max(0, (nanos - System.nanoTime() + 999_999) / 1_000_000);
    }
  }
}
