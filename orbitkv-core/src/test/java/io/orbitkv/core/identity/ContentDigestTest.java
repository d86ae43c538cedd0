package io.orbitkv.core.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When a digest that is known is used, and when a file is read again. */
class ContentDigestTest {

  @TempDir
  private Path folder;

  private KnownDigests known;
  private Path file;

  /** Sizes of the parts that were read, or that need not be. */
  private final List<Long> progress = new ArrayList<>();

  @BeforeEach
  void writeFile() throws IOException {
    known = new KnownDigests(folder.resolve("state"));
    file = Files.write(folder.resolve("weights.bin"), bytes(3_000_000));
  }

  private static byte[] bytes(int count) {
    byte[] bytes = new byte[count];
    new Random(1).nextBytes(bytes);
    return bytes;
  }

  private ModelFiles files() throws IOException {
    return ModelFiles.of(file.toString());
  }

  private Digest digest() throws IOException {
    progress.clear();
    ContentDigest content = new ContentDigest(known, progress::add);
    Digest digest = content.of(files());
    content.keep();
    return digest;
  }

  /** States that the file's present content is known by this digest. */
  private void know(Digest content) throws IOException {
    try (FileChannel channel = FileChannel.open(file)) {
      Digest sample = new ContentDigest(known, progress::add).sample(channel, Files.size(file));
      known.add(Map.of(FileStamp.of(file), new KnownDigests.Known(sample, content)));
    }
  }

  @Test
  void fileThatIsNotKnown_isReadToItsEnd() throws IOException {
    digest();
    assertThat(progress.stream().mapToLong(Long::longValue).sum()).isEqualTo(3_000_000);
    assertThat(progress).hasSize(3);
  }

  @Test
  void knownDigest_isUsedWithoutReading() throws IOException {
    Digest computed = digest();
    know(Digest.sha256(bytes(3_000_000)));
    assertThat(digest()).isEqualTo(computed);
    assertThat(progress).as("in one go").containsExactly(3_000_000L);
    know(Digest.ZERO);
    assertThat(digest()).as("whatever is known of this stamp").isNotEqualTo(computed);
  }

  @Test
  void changedFile_isReadAgain() throws IOException {
    Digest before = digest();
    know(Digest.ZERO);
    byte[] changed = bytes(3_000_000);
    changed[1_500_000]++;
    FileTime time = Files.getLastModifiedTime(file);
    Files.write(file, changed);
    Files.setLastModifiedTime(file, time);
    assertThat(digest()).as("though size and modification time are what they were").isNotEqualTo(before)
        .isNotEqualTo(knownAs(Digest.ZERO));
  }

  private Digest knownAs(Digest content) throws IOException {
    know(content);
    return digest();
  }

  @Test
  void sampleThatDiffers_distrustsTheStamp() throws IOException {
    Digest computed = digest();
    known.add(Map.of(FileStamp.of(file), new KnownDigests.Known(Digest.ZERO, Digest.ZERO)));
    assertThat(digest()).isEqualTo(computed);
    assertThat(progress).hasSize(3);
  }

  @Test
  void fileThatWasJustWritten_isNotKept() throws IOException {
    digest();
    assertThat(known.read()).isEmpty();
  }

  @Test
  void fileWhoseStampIsOld_isKept() throws IOException {
    FileStamp stamp = FileStamp.of(file);
    long changed = Math.max(stamp.changedNanos(), stamp.modifiedNanos());
    assertThat(stamp.isSettled(changed + Duration.ofSeconds(2).toNanos())).isFalse();
    assertThat(stamp.isSettled(changed + Duration.ofSeconds(3).toNanos())).isTrue();
    FileStamp future = new FileStamp(stamp.device(), stamp.inode(), stamp.size(),
        Instant.now().plusSeconds(100).getEpochSecond() * 1_000_000_000L, stamp.changedNanos());
    assertThat(future.isSettled(changed + Duration.ofSeconds(3).toNanos())).isFalse();
  }

  @Test
  void fileThatChangesWhileItIsRead_isRefused() throws IOException {
    ContentDigest content = new ContentDigest(known, read -> {
      try {
        Files.write(file, bytes(2_000_000));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    });
    assertThatThrownBy(() -> content.of(files())).isInstanceOf(UnavailableException.class)
        .hasMessageContaining("was changed while it was read");
  }

  @Test
  void emptyAndSmallFiles_haveDigestsOfTheirOwn() throws IOException {
    Files.write(file, new byte[0]);
    Digest empty = digest();
    Files.write(file, new byte[1]);
    Digest small = digest();
    Files.write(file, new byte[2]);
    assertThat(List.of(empty, small)).doesNotContain(digest()).doesNotHaveDuplicates();
  }

  @Test
  void computationThatIsStopped_endsInTheMiddle() throws IOException {
    ContentDigest content = new ContentDigest(known, read -> {
      throw new CancellationException();
    });
    assertThatThrownBy(() -> content.of(files())).isInstanceOf(CancellationException.class);
  }
}
