package io.orbitkv.backend.iouring.file;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A file channel and a few threads that block in its calls.
 *
 * <p>Requests are objects made once. They circulate: idle → queued (by the driver) → waiting for a thread (since {@link
 * #poll}) → done → idle. The driver alone touches the lists of idle and queued ones; the lock guards the others.
 */
final class ChannelFile implements StoreFile {

  private enum Operation {
    READ,
    WRITE,
    SYNC
  }

  private static final class Request {
    Operation operation;
    long token;
    long position;
    MemorySegment memory;
    int result;
  }

  private final FileChannel channel;
  private final int depth;
  private final List<Thread> workers = new ArrayList<>();

  private final ArrayDeque<Request> idle;
  private final ArrayDeque<Request> queued;
  private Thread driver;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition workArrived = lock.newCondition();
  private final Condition driverWanted = lock.newCondition();
  private final ArrayDeque<Request> waiting;
  private final ArrayDeque<Request> done;
  private int working;
  private boolean woken;
  private boolean closed;

  ChannelFile(FileChannel channel, int depth, int threads) {
    this.channel = channel;
    this.depth = depth;
    idle = new ArrayDeque<>(depth);
    queued = new ArrayDeque<>(depth);
    waiting = new ArrayDeque<>(depth);
    done = new ArrayDeque<>(depth);
    for (int i = 0; i < depth; i++) {
      idle.add(new Request());
    }
    for (int i = 0; i < threads; i++) {
      workers.add(Thread.ofPlatform().daemon().name("orbitkv-file-" + i).start(this::work));
    }
  }

  @Override
  public int depth() {
    return depth;
  }

  @Override
  public String register(List<MemorySegment> regions) {
    return "not registered: file channels copy through the page cache";
  }

  @Override
  public void read(long token, MemorySegment target, long position) {
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("the target of a read is read-only");
    }
    queue(Operation.READ, token, target, position);
  }

  @Override
  public void write(long token, MemorySegment source, long position) {
    queue(Operation.WRITE, token, source, position);
  }

  @Override
  public void sync(long token) {
    add(Operation.SYNC, token, null, 0);
  }

  private void queue(Operation operation, long token, MemorySegment memory, long position) {
    TransferRules.check(memory, position);
    if (!memory.isAccessibleBy(workers.getFirst())) {
      throw new IllegalArgumentException("memory of a transfer is confined to one thread, expected a shared arena's");
    }
    add(operation, token, memory, position);
  }

  private void add(Operation operation, long token, MemorySegment memory, long position) {
    Request request = idle.poll();
    if (request == null) {
      throw new IllegalStateException("more than depth=" + depth + " requests in flight");
    }
    request.operation = operation;
    request.token = token;
    request.memory = memory;
    request.position = position;
    queued.add(request);
  }

  @Override
  public int poll(Completions completions, boolean wait) {
    checkDriver();
    submit(wait);
    int count = 0;
    for (Request request = takeDone(); request != null; request = takeDone()) {
      long token = request.token;
      int result = request.result;
      request.memory = null;
      idle.add(request);
      count++;
      completions.completed(token, result);
    }
    return count;
  }

  private void checkDriver() {
    Thread current = Thread.currentThread();
    if (driver == null) {
      driver = current;
    } else if (driver != current) {
      throw new IllegalStateException("driven by thread " + driver.getName() + ", now also by " + current.getName());
    }
  }

  private void submit(boolean wait) {
    lock.lock();
    try {
      checkOpen();
      waiting.addAll(queued);
      queued.clear();
      workArrived.signalAll();
      while (wait && done.isEmpty() && !woken && !closed) {
        driverWanted.awaitUninterruptibly();
      }
      if (wait) {
        woken = false;
      }
    } finally {
      lock.unlock();
    }
  }

  private Request takeDone() {
    lock.lock();
    try {
      return done.poll();
    } finally {
      lock.unlock();
    }
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException("the file is closed");
    }
  }

  @Override
  public void wake() {
    lock.lock();
    try {
      woken = true;
      driverWanted.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void work() {
    for (Request request = next(); request != null; request = next()) {
      request.result = transfer(request);
      finished(request);
    }
  }

  private Request next() {
    lock.lock();
    try {
      while (waiting.isEmpty() && !closed) {
        workArrived.awaitUninterruptibly();
      }
      Request request = waiting.poll();
      if (request != null) {
        working++;
      }
      return request;
    } finally {
      lock.unlock();
    }
  }

  private void finished(Request request) {
    lock.lock();
    try {
      working--;
      done.add(request);
      driverWanted.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private int transfer(Request request) {
    try {
      // A view a transfer is the one way to name memory to a channel.
      return switch (request.operation) {
        case READ -> Math.max(channel.read(request.memory.asByteBuffer(), request.position), 0);
        case WRITE -> channel.write(request.memory.asByteBuffer(), request.position);
        case SYNC -> {
          channel.force(false);
          yield 0;
        }
      };
    } catch (IOException e) {
      return -errnoOf(e).number();
    } catch (Throwable e) {
      // Its memory was closed under it, or the heap is full. A request must end, and the thread serve the next one.
      return -Errno.EIO.number();
    }
  }

  /**
   * Guesses the error from an exception that has nothing but the C library's text. Only the texts that call for another
   * reaction are known here; with a locale that translates them, as with any other text, the answer is EIO, which is
   * never too mild.
   */
  static Errno errnoOf(IOException failure) {
    if (failure instanceof ClosedChannelException) {
      return Errno.EBADF;
    }
    return switch (failure.getMessage()) {
      case "No space left on device" -> Errno.ENOSPC;
      case "Disk quota exceeded" -> Errno.EDQUOT;
      case "Read-only file system" -> Errno.EROFS;
      case "File too large" -> Errno.EFBIG;
      case "Invalid argument" -> Errno.EINVAL;
      case null, default -> Errno.EIO;
    };
  }

  @Override
  public void close() {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      while (working > 0 || !waiting.isEmpty()) {
        driverWanted.awaitUninterruptibly();
      }
      closed = true;
      workArrived.signalAll();
      driverWanted.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException("the file could not be closed", e);
    }
  }
}
