package io.orbitkv.qualification.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Prefill, decode and the router as they are released, started as {@code orbitkv pd plan} says, with NIXL on this
 * machine's own TCP. Where NIXL cannot start, so it says, and this fails. The faults that wait for a lease to run out
 * are left to {@code run pd}.
 */
class PrefillDecodeIT {

  private static final Duration LIMIT = Duration.ofMinutes(30);

  @TempDir
  private Path folder;

  @Test
  void answersAreThoseOfAnEngineAlone_whateverBecomesOfATransfer() throws IOException, InterruptedException {
    Command trial = Command.run(List.of("./run", "pd", "--fault", "cancellation", "--fault", "peer-loss"), Map.of(), LIMIT, folder);
    assertThat(trial.status()).as(trial.output()).isZero();
  }
}
