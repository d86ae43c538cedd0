package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ScratchFolderTest {

  @TempDir
  private Path parent;

  @Test
  void close_removesTheFolderWithAllThatIsInIt() throws IOException {
    try (ScratchFolder folder = ScratchFolder.in(parent)) {
      Files.createDirectories(folder.path().resolve("a").resolve("b"));
      Files.writeString(folder.path().resolve("a").resolve("file"), "content");
      assertThat(folder.path()).hasParent(parent).isNotEmptyDirectory();
    }
    assertThat(parent).isEmptyDirectory();
  }

  @Test
  void in_saysWhereNoFolderCanBeMade() {
    Path absent = parent.resolve("absent");
    assertThatThrownBy(() -> ScratchFolder.in(absent))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("no folder can be made in '" + absent + "'");
  }
}
