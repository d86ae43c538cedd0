package io.orbitkv.core.identity;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Digests of files that were read before, kept in a file from one start to the next. A file that cannot be read, or
 * that is not as it was written, is as good as none: what it knew is computed again.
 *
 * <p>A line a file: the stamp's numbers, the digest of a sample of the content, and that of the content. The last line
 * is the digest of those before it. The file is replaced as a whole; of two processes that do so at once one wins, and
 * what the other knew is computed again.
 *
 * <p>Used by one thread.
 */
final class KnownDigests {

  private static final Logger LOG = System.getLogger(KnownDigests.class.getName());

  private static final String HEADER = "orbitkv digests of files, 1";
  private static final int MAX_ENTRIES = 4096;
  private static final long MAX_BYTES = 1 << 20;
  private static final int FIELDS = 7;

  /** What is known of one state of a file. */
  record Known(Digest sample, Digest content) {}

  private final Path file;

  KnownDigests(Path folder) {
    this.file = folder.resolve("file-digests");
  }

  /** Returns what is known. */
  Map<FileStamp, Known> read() {
    try {
      if (Files.size(file) > MAX_BYTES) {
        throw new RefusedException("it has more than " + MAX_BYTES + " bytes");
      }
      return parse(Files.readAllLines(file, StandardCharsets.US_ASCII));
    } catch (NoSuchFileException e) {
      return new LinkedHashMap<>();
    } catch (IOException | RefusedException | NumberFormatException e) {
      LOG.log(Level.WARNING, "digests in {0} are not used, and the files are read again: {1}", file, e.getMessage());
      return new LinkedHashMap<>();
    }
  }

  private static Map<FileStamp, Known> parse(List<String> lines) {
    int last = lines.size() - 1;
    if (last < 1 || !lines.getFirst().equals(HEADER)
        || !lines.getLast().equals(seal(lines.subList(0, last)))) {
      throw new RefusedException("it is damaged, or of another release");
    }
    Map<FileStamp, Known> known = new LinkedHashMap<>();
    for (String line : lines.subList(1, last)) {
      String[] fields = line.split(" ");
      if (fields.length != FIELDS) {
        throw new RefusedException("a line has " + fields.length + " fields, expected " + FIELDS);
      }
      known.put(
          new FileStamp(Long.parseLong(fields[0]), Long.parseLong(fields[1]), Long.parseLong(fields[2]),
              Long.parseLong(fields[3]), Long.parseLong(fields[4])),
          new Known(Digest.ofHex(fields[5]), Digest.ofHex(fields[6])));
    }
    return known;
  }

  private static String seal(List<String> lines) {
    return Digest.sha256(String.join("\n", lines).getBytes(StandardCharsets.US_ASCII)).toHex();
  }

  /** Adds to what is known. That it cannot be kept costs time at the next start, and nothing else. */
  void add(Map<FileStamp, Known> more) {
    Map<FileStamp, Known> all = read();
    more.keySet().forEach(all::remove);
    all.putAll(more);
    List<String> lines = new ArrayList<>(List.of(HEADER));
    // The newest are last.
    all.entrySet().stream().skip(Math.max(0, all.size() - MAX_ENTRIES))
        .map(entry -> line(entry.getKey(), entry.getValue()))
        .forEach(lines::add);
    lines.add(seal(lines));
    Optional<Path> written = Optional.empty();
    try {
      Files.createDirectories(file.getParent());
      Path next = Files.createTempFile(file.getParent(), "file-digests", ".next");
      written = Optional.of(next);
      Files.write(next, lines, StandardCharsets.US_ASCII);
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      LOG.log(Level.WARNING, "digests are not kept in {0}: {1}", file, e.toString());
      written.ifPresent(KnownDigests::remove);
    }
  }

  private static String line(FileStamp stamp, Known known) {
    return stamp.device() + " " + stamp.inode() + " " + stamp.size() + " " + stamp.modifiedNanos() + " "
        + stamp.changedNanos() + " " + known.sample().toHex() + " " + known.content().toHex();
  }

  private static void remove(Path leftOver) {
    try {
      Files.deleteIfExists(leftOver);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "{0} was left behind: {1}", leftOver, e.toString());
    }
  }
}
