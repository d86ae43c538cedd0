package io.orbitkv.cli.chaos;

import io.orbitkv.api.UnavailableException;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A socket before another socket, whose connections can be cut while both ends live, and in which a message can be held
 * back: so both ends stay in the state that they are in. It lies in the same folder, since what a Manager names lies
 * beside the socket that is connected to. It knows frames, and of a message only its tag.
 */
public final class Relay implements AutoCloseable {

  private static final int FIRST_BYTES = 64 << 10;

  /** Behind the length, an array of at most 15 elements begins with one byte, and its first element is the tag. */
  private static final int TAG_AT = Integer.BYTES + 1;

  private final Path socket;
  private final Path target;
  private final ServerSocketChannel listening;
  private final Set<Relayed> open = ConcurrentHashMap.newKeySet();
  private final AtomicReference<Hold> hold = new AtomicReference<>();

  /**
   * Listens.
   *
   * @param socket where; must not exist
   * @param target what is connected to for each connection
   */
  public Relay(Path socket, Path target) {
    this.socket = socket;
    this.target = target;
    try {
      this.listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
      listening.bind(UnixDomainSocketAddress.of(socket));
    } catch (IOException e) {
      throw new UnavailableException("cannot listen at " + socket + ": " + e.getMessage(), e);
    }
    Thread.ofPlatform().daemon().name("relay " + socket.getFileName()).start(this::accept);
  }

  /** Returns where it listens. */
  public Path socket() {
    return socket;
  }

  /** Cuts every connection, in both directions at once. A message that is held back is lost. */
  public void cut() {
    open.forEach(Relayed::close);
  }

  // ---- holding back

  /** A message that is to be held back, and then is. */
  public static final class Hold {

    private final int tag;
    private final boolean reply;
    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);

    private Hold(int tag, boolean reply) {
      this.tag = tag;
      this.reply = reply;
    }

    /** Waits until the message has come, and returns whether it has. */
    public boolean await(Duration limit) throws InterruptedException {
      return held.await(limit.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Lets it go, or lets it pass if it has not come. */
    public void release() {
      released.countDown();
    }
  }

  /** Holds back the next request with a tag: whoever sent it waits, and the other side knows nothing of it. */
  public Hold holdRequest(int tag) {
    return hold(new Hold(tag, false));
  }

  /** Holds back the reply to the next request with a tag: it was carried out, and whoever sent it does not know. */
  public Hold holdReply(int tag) {
    return hold(new Hold(tag, true));
  }

  private Hold hold(Hold next) {
    hold.set(next);
    return next;
  }

  // ---- relaying

  private void accept() {
    while (listening.isOpen()) {
      try {
        SocketChannel near = listening.accept();
        try {
          new Relayed(near, SocketChannel.open(UnixDomainSocketAddress.of(target))).start();
        } catch (IOException e) {
          // Nobody listens there at present: the same is seen here.
          near.close();
        }
      } catch (IOException e) {
        // Closed, which the loop's condition sees.
      }
    }
  }

  /** One connection. */
  private final class Relayed {

    private final SocketChannel near;
    private final SocketChannel far;
    private volatile Hold ofReply;
    private volatile Hold holding;

    Relayed(SocketChannel near, SocketChannel far) {
      this.near = near;
      this.far = far;
    }

    void start() {
      open.add(this);
      Thread.ofPlatform().daemon().name("relay requests").start(() -> pump(near, far, this::request));
      Thread.ofPlatform().daemon().name("relay replies").start(() -> pump(far, near, frame -> reply()));
    }

    private void pump(SocketChannel from, SocketChannel to, Passage passage) {
      ByteBuffer buffer = ByteBuffer.allocate(FIRST_BYTES);
      try {
        while (true) {
          buffer = receive(from, buffer);
          passage.pass(buffer);
          while (buffer.hasRemaining()) {
            to.write(buffer);
          }
        }
      } catch (IOException e) {
        // Cut, here or at an end.
      } catch (InterruptedException e) {
        throw new IllegalStateException("nothing interrupts a relay", e);
      } finally {
        close();
      }
    }

    /** A connection has one request under way at a time, so the next reply is that to the last request. */
    private void request(ByteBuffer frame) throws InterruptedException {
      Hold next = hold.get();
      if (next != null && frame.get(TAG_AT) == next.tag && hold.compareAndSet(next, null)) {
        if (next.reply) {
          ofReply = next;
        } else {
          hold(next);
        }
      }
    }

    private void reply() throws InterruptedException {
      Hold due = ofReply;
      if (due != null) {
        ofReply = null;
        hold(due);
      }
    }

    private void hold(Hold message) throws InterruptedException {
      holding = message;
      message.held.countDown();
      message.released.await();
      holding = null;
    }

    void close() {
      open.remove(this);
      try {
        near.close();
        far.close();
      } catch (IOException e) {
        throw new UnavailableException("a relayed connection cannot be closed: " + e.getMessage(), e);
      }
      Hold message = holding;
      if (message != null) {
        // Its thread finds the channels closed.
        message.release();
      }
    }
  }

  /** What may hold a frame back. */
  @FunctionalInterface
  private interface Passage {
    void pass(ByteBuffer frame) throws InterruptedException;
  }

  /** Returns a whole frame, from its length on, in this buffer or a larger one. */
  private static ByteBuffer receive(SocketChannel from, ByteBuffer buffer) throws IOException {
    read(from, buffer.clear().limit(Integer.BYTES));
    int end = Integer.BYTES + buffer.getInt(0);
    ByteBuffer whole = buffer;
    if (end > buffer.capacity()) {
      whole = ByteBuffer.allocate(end).put(buffer.flip());
    }
    read(from, whole.limit(end));
    return whole.flip();
  }

  private static void read(SocketChannel from, ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      if (from.read(buffer) < 0) {
        throw new EOFException("the other side closed the connection");
      }
    }
  }

  @Override
  public void close() {
    try {
      listening.close();
      Files.deleteIfExists(socket);
    } catch (IOException e) {
      throw new UnavailableException("the relay at " + socket + " cannot be closed: " + e.getMessage(), e);
    }
    cut();
  }
}
