package io.orbitkv.core.identity;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Namespaces that were asked for. The model's files are read on a thread of its own, one set after another, so that an
 * engine that starts is not held up: it has no cache until its namespace is known.
 *
 * <p>Thread-safe.
 */
public final class Identities implements AutoCloseable {

  private static final int MAX_KEPT = 16;

  private final KnownDigests known;
  private final Map<EngineStatement, Identification> identifications = new LinkedHashMap<>();
  private final LinkedBlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>(2 * MAX_KEPT);
  private Thread thread;
  private boolean closed;

  /** How far a namespace is. */
  public sealed interface Standing {

    /**
     * Files are being read.
     *
     * @param doneBytes how many bytes have been read
     * @param totalBytes of how many
     */
    record Reading(long doneBytes, long totalBytes) implements Standing {}

    /** It is there. */
    record Known(Digest namespace) implements Standing {}
  }

  /**
   * Opens nothing yet.
   *
   * @param state the folder in which digests of files are kept
   */
  public Identities(Path state) {
    this.known = new KnownDigests(state);
  }

  /**
   * Answers how far a namespace is; the first who asks has it begun. Returns at once.
   *
   * @param stated what it follows from
   * @return how far it is
   * @throws RefusedException if it cannot be told from what was stated; asking again begins anew
   * @throws io.orbitkv.api.UnavailableException if a file changed while it was read
   */
  public synchronized Standing identify(EngineStatement stated) {
    if (closed) {
      throw new RefusedException("the adapter is closed");
    }
    Identification identification = identifications.get(stated);
    if (identification == null) {
      identification = begin(stated);
    }
    return switch (identification.standing()) {
      case Identification.Standing.Reading reading ->
          new Standing.Reading(reading.doneBytes(), reading.totalBytes());
      case Identification.Standing.Known found -> new Standing.Known(found.namespace());
      case Identification.Standing.Failed failed -> {
        identifications.remove(stated);
        throw failed.why();
      }
    };
  }

  private Identification begin(EngineStatement stated) {
    if (identifications.size() >= MAX_KEPT) {
      identifications.values().removeIf(kept -> !(kept.standing() instanceof Identification.Standing.Reading));
      if (identifications.size() >= MAX_KEPT) {
        throw new RefusedException(MAX_KEPT + " models are being identified; one agent serves one engine");
      }
    }
    Identification identification = new Identification(stated);
    identifications.put(stated, identification);
    tasks.add(() -> identification.run(known));
    if (thread == null) {
      thread = Thread.ofPlatform().daemon().name("orbitkv-identity").start(this::work);
    }
    return identification;
  }

  private void work() {
    try {
      while (true) {
        tasks.take().run();
      }
    } catch (InterruptedException e) {
      // It is closed.
      return;
    }
  }

  /** Ends reading soon, and waits for it. Idempotent. */
  @Override
  public void close() {
    Thread working;
    synchronized (this) {
      closed = true;
      identifications.values().forEach(Identification::stop);
      working = thread;
    }
    if (working == null) {
      return;
    }
    working.interrupt();
    boolean interrupted = false;
    while (working.isAlive()) {
      try {
        working.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
