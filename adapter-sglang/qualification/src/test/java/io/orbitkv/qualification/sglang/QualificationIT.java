package io.orbitkv.qualification.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The released engine, in an environment that {@code .ci/sglang-env} makes once, with the wheel of this build. */
class QualificationIT {

  private static final Duration LIMIT = Duration.ofMinutes(30);

  @TempDir
  private Path folder;

  @Test
  void bytesAreThoseThatWereComputed_andThePageSaysSo() throws IOException, InterruptedException {
    Command qualification = Command.run(
        List.of("./run", "qualification", "--page", "target/qualification-sglang.md",
            "--compare", "../../docs/qualification-sglang.md"),
        Map.of(), LIMIT, folder);
    assertThat(qualification.status()).as(qualification.output()).isZero();
  }
}
