package io.orbitkv.cli.http;

import io.orbitkv.api.RefusedException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;

/** A file with a secret in its first line. */
final class PrivateFile {

  private static final Set<PosixFilePermission> OWNERS =
      Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);

  /** What a secret that was mounted for a group has: Kubernetes and systemd hand them to a service in this way. */
  private static final Set<PosixFilePermission> HANDED_DOWN =
      Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.GROUP_READ);

  private static final int MAX_BYTES = 4096;

  private PrivateFile() {}

  /**
   * Reads the secret.
   *
   * @param what the secret is, for messages
   * @param file where it is
   * @throws RefusedException if the file is missing, empty, or can be read by others
   */
  static String secret(String what, Path file) {
    checkPrivate(what, file);
    try {
      if (Files.size(file) > MAX_BYTES) {
        throw new RefusedException(what + " '" + file + "' has " + Files.size(file)
            + " bytes, expected one line of at most " + MAX_BYTES);
      }
      List<String> lines = Files.readAllLines(file);
      if (lines.isEmpty() || lines.getFirst().isBlank()) {
        throw new RefusedException(what + " '" + file + "' is empty, expected the secret in its first line");
      }
      return lines.getFirst().strip();
    } catch (CharacterCodingException e) {
      throw new RefusedException(what + " '" + file + "' is not text, expected the secret in its first line", e);
    } catch (IOException e) {
      throw unreadable(what, file, e);
    }
  }

  /** Refuses a file that others than its owner may use. */
  static void checkPrivate(String what, Path file) {
    PosixFileAttributes attributes;
    try {
      attributes = Files.readAttributes(file, PosixFileAttributes.class);
    } catch (IOException e) {
      throw unreadable(what, file, e);
    }
    Set<PosixFilePermission> granted = attributes.permissions();
    boolean handedDown = attributes.owner().getName().equals("root") && HANDED_DOWN.containsAll(granted);
    if (!OWNERS.containsAll(granted) && !handedDown) {
      throw new RefusedException(what + " '" + file + "' has mode " + PosixFilePermissions.toString(granted)
          + ", expected that only its owner may use it: chmod 600 " + file);
    }
  }

  private static RefusedException unreadable(String what, Path file, IOException why) {
    String reason = why instanceof NoSuchFileException ? "there is no such file" : why.toString();
    return new RefusedException(what + " '" + file + "' cannot be read: " + reason, why);
  }
}
