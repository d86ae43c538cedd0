package io.orbitkv.core.identity;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.core.identity.KnownDigests.Known;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KnownDigestsTest {

  private static final Known KNOWN = new Known(Digest.sha256(new byte[1]), Digest.sha256(new byte[2]));

  @TempDir
  private Path folder;

  private KnownDigests known;
  private Path file;

  @BeforeEach
  void open() {
    known = new KnownDigests(folder.resolve("state"));
    file = folder.resolve("state/file-digests");
  }

  private static FileStamp stamp(long inode) {
    return new FileStamp(1, inode, 3, -4, Long.MAX_VALUE);
  }

  @Test
  void whatWasAdded_isRead() {
    assertThat(known.read()).isEmpty();
    known.add(Map.of(stamp(1), KNOWN));
    known.add(Map.of(stamp(2), KNOWN));
    assertThat(new KnownDigests(folder.resolve("state")).read()).isEqualTo(Map.of(stamp(1), KNOWN, stamp(2), KNOWN));
  }

  @Test
  void anyDamage_isTakenForNothingKnown_andMendedByTheNextAddition() throws IOException {
    known.add(Map.of(stamp(1), KNOWN));
    byte[] whole = Files.readAllBytes(file);
    for (int at = 0; at < whole.length; at++) {
      byte[] damaged = whole.clone();
      damaged[at] ^= 1;
      Files.write(file, damaged);
      assertThat(known.read()).as("byte " + at).isIn(Map.of(), Map.of(stamp(1), KNOWN));
      // The line's end is the only byte that says nothing.
      if (at < whole.length - 1) {
        assertThat(known.read()).as("byte " + at).isEmpty();
      }
    }
    known.add(Map.of(stamp(2), KNOWN));
    assertThat(known.read()).isEqualTo(Map.of(stamp(2), KNOWN));
  }

  @Test
  void fileThatBreaksOff_isTakenForNothingKnown() throws IOException {
    known.add(Map.of(stamp(1), KNOWN));
    byte[] whole = Files.readAllBytes(file);
    for (int length = 0; length < whole.length - 1; length++) {
      Files.write(file, Arrays.copyOf(whole, length));
      assertThat(known.read()).as(length + " bytes").isEmpty();
    }
  }

  @Test
  void fileThatIsFarTooLarge_isNotRead() throws IOException {
    Files.createDirectories(file.getParent());
    Files.write(file, new byte[5 << 20]);
    assertThat(known.read()).isEmpty();
  }

  @Test
  void newestAreKept() {
    Map<FileStamp, Known> many = new LinkedHashMap<>();
    for (int i = 0; i < 5000; i++) {
      many.put(stamp(i), KNOWN);
    }
    known.add(many);
    known.add(Map.of(stamp(9999), KNOWN));
    assertThat(known.read()).hasSize(4096).containsKeys(stamp(9999), stamp(4999)).doesNotContainKey(stamp(0));
  }

  @Test
  void folderThatCannotBeWritten_costsNothingButTime() throws IOException {
    Files.writeString(folder.resolve("state"), "a file");
    known.add(Map.of(stamp(1), KNOWN));
    assertThat(known.read()).isEmpty();
  }

  @Test
  void nothingIsLeftBehind() throws IOException {
    known.add(Map.of(stamp(1), KNOWN));
    known.add(Map.of(stamp(2), KNOWN));
    try (Stream<Path> files = Files.list(folder.resolve("state"))) {
      assertThat(files.toList()).isEqualTo(List.of(file));
    }
  }
}
