package io.orbitkv.core.identity;

import io.orbitkv.api.Digest;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;

/** One namespace on its way: how far the model's files are read, and what came of it. Thread-safe. */
final class Identification {

  private final EngineStatement stated;
  private final EngineFacts facts;
  private volatile long doneBytes;
  private volatile long totalBytes;
  private volatile Standing standing;
  private volatile boolean stopped;

  /**
   * Reads nothing yet.
   *
   * @throws RefusedException if the facts are not those of an engine
   */
  Identification(EngineStatement stated) {
    this.stated = stated;
    this.facts = EngineFacts.of(stated.facts());
    this.standing = new Standing.Reading(0, 0);
  }

  /** Returns how it stands. */
  Standing standing() {
    return standing instanceof Standing.Reading ? new Standing.Reading(doneBytes, totalBytes) : standing;
  }

  /** Ends the reading soon. */
  void stop() {
    stopped = true;
  }

  /** Reads what is not known, to the end. On a thread that has the time. */
  void run(KnownDigests known) {
    try {
      standing = new Standing.Known(namespace(known));
    } catch (CancellationException e) {
      standing = new Standing.Failed(new UnavailableException("the adapter is closed"));
    } catch (OrbitKvException e) {
      standing = new Standing.Failed(e);
    } catch (IOException e) {
      standing = new Standing.Failed(new RefusedException("files of model '" + stated.modelPath()
          + "' cannot be read: " + e + "; mend that, or assert a digest of them", e));
    } catch (RuntimeException e) {
      // The thread has others to identify.
      standing = new Standing.Failed(new RefusedException(
          "model '" + stated.modelPath() + "' cannot be identified: unexpected " + e, e));
    }
  }

  private Digest namespace(KnownDigests known) throws IOException {
    boolean asserted = stated.assertedDigest().isPresent();
    List<ModelFiles> all = new ArrayList<>();
    if (!asserted) {
      all.add(ModelFiles.of(stated.modelPath()));
    }
    for (String adapter : stated.adapterPaths()) {
      all.add(ModelFiles.of(adapter));
    }
    long total = 0;
    for (ModelFiles files : all) {
      for (ModelFiles.Named file : files.files()) {
        total += Files.size(file.path());
      }
    }
    totalBytes = total;
    ContentDigest content = new ContentDigest(known, this::read);
    List<Digest> digests = new ArrayList<>();
    for (ModelFiles files : all) {
      digests.add(content.of(files));
    }
    content.keep();
    Digest model = asserted ? stated.assertedDigest().get() : digests.removeFirst();
    return facts.namespace(stated, model, digests).digest();
  }

  private void read(long bytes) {
    if (stopped) {
      throw new CancellationException();
    }
    // One thread reads.
    doneBytes = doneBytes + bytes;
  }

  /** How an identification stands. */
  sealed interface Standing {

    /** Files are being read, or wait for it. */
    record Reading(long doneBytes, long totalBytes) implements Standing {}

    /** It has come to its end. */
    record Known(Digest namespace) implements Standing {}

    /** It cannot be told. */
    record Failed(OrbitKvException why) implements Standing {}
  }
}
