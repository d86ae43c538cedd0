package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.spi.StoreListener;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.lang.System.Logger.Level;
import java.util.concurrent.locks.LockSupport;

/**
 * Does everything that touches the device once the store is in service: one loop that takes requests, keeps transfers
 * in flight, verifies what was read and completes. Verification runs here too: while it does, the device works on the
 * rest of what is in flight.
 *
 * <p>Whatever goes wrong, every request is completed exactly once. If the loop itself fails, the file is closed first,
 * which ends every transfer, and only then are the requests completed, so that no memory is given back that the kernel
 * may still write to.
 */
final class Driver implements Runnable {

  private final StoreFile file;
  private final Superblock superblock;
  private final StoreListener listener;
  private final DiskQueue disk;
  private final Checksum checksum = new Checksum();
  private final System.Logger logger;
  private final FaultLog faults;
  private final Inbox inbox = new Inbox();

  /** Requests that were taken and have not begun. */
  private Request arrived;

  /** Requests that have begun and are not complete. */
  private Request outstanding;

  /** Why nothing is written any more, or null. */
  private StoreStatus writesEnded;

  private boolean failed;
  private boolean listenerThrew;

  /** Guards the file's life against a wake from the core's thread. Never held for longer than a wake. */
  private final Object fileGate = new Object();

  private boolean fileInUse = true;

  private volatile Thread thread;
  private volatile boolean parked;
  private volatile boolean stopping;

  /** Requests that were never submitted; set before {@link #stopping}. */
  private Request unsubmitted;

  Driver(StoreFile file, Superblock superblock, StoreListener listener, System.Logger logger) {
    this.file = file;
    this.superblock = superblock;
    this.listener = listener;
    this.logger = logger;
    this.faults = new FaultLog(logger);
    this.disk = new DiskQueue(file);
  }

  // For the core's thread.

  /** Hands over a chain of requests. */
  void submit(Request last, Request first) {
    inbox.push(last, first);
    wakeIfParked();
  }

  /** Ends the loop once everything submitted is complete. Later requests are not taken. */
  void stop(Request newestUnsubmitted) {
    unsubmitted = Inbox.oldestFirst(newestUnsubmitted);
    stopping = true;
    wakeIfParked();
  }

  private void wakeIfParked() {
    if (!parked) {
      return;
    }
    synchronized (fileGate) {
      if (fileInUse) {
        file.wake();
        return;
      }
    }
    LockSupport.unpark(thread);
  }

  // For the driver's thread.

  @Override
  public void run() {
    thread = Thread.currentThread();
    boolean inService = true;
    while (inService) {
      inService = turn(true);
    }
  }

  /**
   * Goes once round the loop.
   *
   * @param mayWait whether to wait if there is nothing to do
   * @return whether service goes on
   */
  boolean turn(boolean mayWait) {
    try {
      beginArrived();
      if (stopping && inbox.isEmpty() && (failed || disk.isIdle())) {
        end();
        return false;
      }
      if (!failed) {
        disk.issue();
      }
      // While the device takes no more nothing can be begun, and the end of a transfer wakes this loop anyway.
      parked = failed || disk.hasRoom();
      boolean wait = mayWait && inbox.isEmpty() && !(stopping && (failed || disk.isIdle()));
      if (!failed) {
        disk.turn(wait);
      } else if (wait) {
        LockSupport.park(this);
      }
      parked = false;
    } catch (Throwable t) {
      // Anything at all, an OutOfMemoryError too: requests that nobody completes would hang the core for ever.
      fail(t);
    }
    return true;
  }

  private void beginArrived() {
    if (arrived == null) {
      arrived = inbox.takeAll();
    }
    while (arrived != null) {
      Request request = arrived;
      arrived = request.following;
      request.following = null;
      addOutstanding(request);
      if (failed) {
        request.fail(StoreStatus.IO_ERROR);
      } else if (writesEnded != null && !(request instanceof Read)) {
        request.fail(writesEnded);
      } else {
        request.begin();
      }
    }
  }

  private void end() {
    while (unsubmitted != null) {
      Request request = unsubmitted;
      unsubmitted = request.following;
      addOutstanding(request);
      request.fail(StoreStatus.CLOSED);
    }
    closeFile();
  }

  private void fail(Throwable cause) {
    failed = true;
    logger.log(Level.ERROR, "the store's driver failed; every request ends with an I/O error from now on", cause);
    if (!closeFile()) {
      quarantine();
    }
    while (outstanding != null) {
      outstanding.fail(StoreStatus.IO_ERROR);
    }
  }

  /** Returns whether it is certain that no transfer is in flight any more. */
  private boolean closeFile() {
    synchronized (fileGate) {
      if (!fileInUse) {
        return true;
      }
      fileInUse = false;
    }
    try {
      file.close();
      return true;
    } catch (RuntimeException e) {
      logger.log(Level.ERROR, "closing the store's file failed", e);
      return false;
    }
  }

  /**
   * Sets aside for good what the kernel may still read or write. It is the one case in which a request is not completed:
   * a completion would give memory back that is not proven free.
   */
  private void quarantine() {
    int count = 0;
    Request request = outstanding;
    while (request != null) {
      Request following = request.after;
      if (request.hasMemoryInFlight()) {
        removeOutstanding(request);
        count++;
      }
      request = following;
    }
    logger.log(Level.ERROR, count + " transfers cannot be proven to have ended; their memory is never given back");
  }

  // For requests, on the driver's thread.

  DiskQueue disk() {
    return disk;
  }

  Superblock superblock() {
    return superblock;
  }

  Checksum checksum() {
    return checksum;
  }

  FaultLog faults() {
    return faults;
  }

  void transferFailed(Request request, String step, StoreStatus status) {
    if (request.kind == DiskTransfer.Kind.SYNC && writesEnded == null) {
      // After a failed sync the kernel may have forgotten what it could not write, and the next sync may succeed all
      // the same. Nothing after it can be called durable.
      writesEnded = status;
      logger.log(Level.ERROR, request + " could not be made durable: " + status + "; the store takes no more writes");
      return;
    }
    faults.report(request + " failed at " + step + ": " + status);
  }

  void complete(Request request, StoreStatus status) {
    removeOutstanding(request);
    try {
      listener.completed(request.token, status);
    } catch (RuntimeException e) {
      if (!listenerThrew) {
        listenerThrew = true;
        logger.log(Level.ERROR, "the store's listener threw, which it must not; said once", e);
      }
    }
  }

  private void addOutstanding(Request request) {
    request.after = outstanding;
    if (outstanding != null) {
      outstanding.before = request;
    }
    outstanding = request;
  }

  private void removeOutstanding(Request request) {
    if (request.before != null) {
      request.before.after = request.after;
    } else if (outstanding == request) {
      outstanding = request.after;
    } else {
      throw new IllegalStateException(request + " is complete already");
    }
    if (request.after != null) {
      request.after.before = request.before;
    }
    request.before = null;
    request.after = null;
  }
}
