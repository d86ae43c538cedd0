package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.cli.replay.FakeCache;
import io.orbitkv.cli.replay.FakeCache.Restores;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the quickstart says. That it works over the embedded cache is shown by running it. */
class QuickstartTest {

  @TempDir
  private Path folder;

  @Test
  void saysWhatItProvedAndWhatToTryNext() {
    Invocation run = Invocation.with((settings, backends) -> FakeCache.opener(Restores.RIGHT),
        "quickstart", "--requests", "60", "--dir", folder.toString());

    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out()).contains("before the restart", "after the restart", "every one checked, none wrong",
        "Try next:", "orbitkv replay");
    assertThat(folder).isEmptyDirectory();
  }

  @Test
  void saysWhyItFallsBackToFiles() {
    Invocation run = Invocation.with((settings, backends) -> settings.ssd().isPresent() && settings.storage().isEmpty()
            ? () -> {
              throw new UnavailableException("io_uring is forbidden; set sysctl kernel.io_uring_disabled=0");
            }
            : FakeCache.opener(Restores.RIGHT),
        "quickstart", "--requests", "60", "--dir", folder.toString());

    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out()).contains("kernel.io_uring_disabled=0", "--storage file");
  }

  @Test
  void failsIfAByteIsWrong() {
    Invocation run = Invocation.with(
        (settings, backends) -> FakeCache.opener((cache, chain, block, rank) -> cache.stored(chain, block, 1 - rank)),
        "quickstart", "--requests", "60", "--dir", folder.toString());

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.out()).contains("FAILED").doesNotContain("Try next");
  }

  @Test
  void failsIfNothingComesBackFromTheSsd() {
    Invocation run = Invocation.with(
        (settings, backends) -> () -> FakeCache.opener(Restores.RIGHT).open(),
        "quickstart", "--requests", "60", "--dir", folder.toString());

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.out()).contains("nothing was served from the SSD");
  }
}
