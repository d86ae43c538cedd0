package io.orbitkv.core.identity;

import io.orbitkv.api.Digest;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * Computes the digest of a set of files from their names and contents. What was read before and has the same stamp is
 * taken from what is known, after a look at a sample of its content: a stamp says that nobody changed the file, and a
 * sample that it is still the same one, on a file system that does not keep stamps as it should.
 *
 * <p>Used by one thread.
 */
final class ContentDigest {

  private static final byte[] DOMAIN = "orbitkv/model-files/1".getBytes(StandardCharsets.UTF_8);
  private static final int CHUNK_BYTES = 1 << 20;
  private static final int SAMPLES = 16;
  private static final int SAMPLE_BYTES = 4096;

  private final KnownDigests known;
  private final Map<FileStamp, KnownDigests.Known> before;
  private final Map<FileStamp, KnownDigests.Known> fresh = new HashMap<>();
  private final LongConsumer progress;
  private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK_BYTES);

  /**
   * Reads what is known.
   *
   * @param progress is told of bytes that need not be read any more; it may throw to end the computation
   */
  ContentDigest(KnownDigests known, LongConsumer progress) {
    this.known = known;
    this.before = known.read();
    this.progress = progress;
  }

  /** Returns the digest of some files. */
  Digest of(ModelFiles files) throws IOException {
    MessageDigest all = sha256();
    all.update(DOMAIN);
    for (ModelFiles.Named file : files.files()) {
      byte[] name = file.name().getBytes(StandardCharsets.UTF_8);
      all.update(ByteBuffer.allocate(Integer.BYTES).putInt(name.length).flip());
      all.update(name);
      all.update(of(file.path()).toBytes());
    }
    return Digest.of(all.digest());
  }

  /** Keeps what was computed for the next start. */
  void keep() {
    if (!fresh.isEmpty()) {
      known.add(fresh);
    }
  }

  private Digest of(Path file) throws IOException {
    FileStamp stamp = FileStamp.of(file);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      Digest sample = sample(channel, stamp.size());
      KnownDigests.Known found = before.get(stamp);
      if (found != null && found.sample().equals(sample)) {
        progress.accept(stamp.size());
        return found.content();
      }
      long begun = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
      Digest content = content(channel);
      if (!FileStamp.of(file).equals(stamp)) {
        throw new UnavailableException("file " + file + " was changed while it was read; start again when it is whole");
      }
      if (stamp.isSettled(begun)) {
        fresh.put(stamp, new KnownDigests.Known(sample, content));
      }
      return content;
    }
  }

  private Digest content(FileChannel channel) throws IOException {
    MessageDigest sha = sha256();
    channel.position(0);
    while (channel.read(chunk.clear()) >= 0) {
      chunk.flip();
      progress.accept(chunk.remaining());
      sha.update(chunk);
    }
    return Digest.of(sha.digest());
  }

  /** Returns the digest of small parts from all over the file. */
  Digest sample(FileChannel channel, long size) throws IOException {
    MessageDigest sha = sha256();
    for (int i = 0; i < SAMPLES; i++) {
      long at = Math.max(0, size - SAMPLE_BYTES) / (SAMPLES - 1) * i;
      chunk.clear().limit(SAMPLE_BYTES);
      channel.read(chunk, at);
      sha.update(chunk.flip());
    }
    return Digest.of(sha.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
