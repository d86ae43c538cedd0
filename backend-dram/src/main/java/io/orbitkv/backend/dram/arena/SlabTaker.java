package io.orbitkv.backend.dram.arena;

import io.orbitkv.api.ByteSize;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Takes the memory of a mapping slab by slab on threads of its own. Slabs may become ready in any order; what it
 * reports as ready is the run from the start without a gap. The first failure ends it: what is ready stays ready.
 */
final class SlabTaker implements AutoCloseable {

  /** What is taken between two looks at {@code closing}: closing waits for one step a thread at most. */
  private static final long STEP_BYTES = 32L << 20;

  private final Mapping mapping;
  private final long bytes;
  private final long slabBytes;
  private final int slabs;
  private final List<Thread> threads = new ArrayList<>();
  private final BitSet taken = new BitSet();
  private int nextSlab;
  private int takers;

  private volatile long readyBytes;
  private volatile boolean closing;
  private volatile String failure;
  private volatile String pages;

  /**
   * Takes the first slab and returns; the others follow after {@link #start}.
   *
   * @throws IOException if the first slab is not granted
   */
  SlabTaker(Mapping mapping, long bytes, long slabBytes) throws IOException {
    this.mapping = mapping;
    this.bytes = bytes;
    this.slabBytes = slabBytes;
    this.slabs = Math.toIntExact((bytes + slabBytes - 1) / slabBytes);
    take(nextSlab++);
    pages = mapping.pages();
  }

  /**
   * Takes the other slabs in the background.
   *
   * @param parallel how many threads at most
   */
  synchronized void start(int parallel) {
    takers = Math.min(parallel, slabs - nextSlab);
    for (int i = 0; i < takers; i++) {
      threads.add(Thread.ofPlatform().daemon().name("orbitkv-arena-" + i).start(this::takeAll));
    }
  }

  long readyBytes() {
    return readyBytes;
  }

  /** Returns which pages the memory was found on, and what ended the taking early. */
  String describe() {
    String reason = failure;
    return pages + (reason == null ? "" : ", only " + new ByteSize(readyBytes) + " ready: " + reason);
  }

  private void takeAll() {
    try {
      for (int slab = next(); slab >= 0; slab = next()) {
        take(slab);
      }
    } catch (IOException e) {
      fail(e.getMessage());
    } finally {
      end();
    }
  }

  private synchronized int next() {
    return closing || failure != null || nextSlab == slabs ? -1 : nextSlab++;
  }

  private void take(int slab) throws IOException {
    long end = Math.min(bytes, (slab + 1) * slabBytes);
    for (long at = slab * slabBytes; at < end; at += STEP_BYTES) {
      if (closing) {
        return;
      }
      mapping.take(at, Math.min(STEP_BYTES, end - at));
    }
    synchronized (this) {
      taken.set(slab);
      readyBytes = Math.min(bytes, taken.nextClearBit(0) * slabBytes);
    }
  }

  private synchronized void fail(String reason) {
    if (failure == null) {
      failure = reason;
      System.getLogger(SlabTaker.class.getName()).log(System.Logger.Level.WARNING,
          "memory stays at {0} of {1}: {2}", new ByteSize(readyBytes), new ByteSize(bytes), reason);
    }
  }

  /** The last thread reads back once more: later slabs may have found no huge pages. */
  private synchronized void end() {
    if (--takers == 0 && !closing) {
      pages = mapping.pages();
    }
  }

  /** Stops taking and waits until no thread touches the mapping any more. */
  @Override
  public void close() {
    closing = true;
    awaitEnd();
  }

  /** Waits until every slab was taken, or one failed. An interrupt is kept for later: the memory is in use. */
  void awaitEnd() {
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
