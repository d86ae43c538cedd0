package io.orbitkv.backend.gpu.cuda.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ProcessEndTest {

  @Test
  void aProcessThatLostItsContext_endsAtOnceAndSaysWhy() throws Exception {
    String classes = System.getProperty("jdk.module.path") + ":" + System.getProperty("orbitkv.test.classes");
    Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED", "-Dorbitkv.test.driver=" + FakeDriver.LIBRARY, "--class-path", classes,
        LostProcess.class.getName()).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(said).isEqualTo(ProcessEnd.STATUS);
    assertThat(said).contains("waiting", "nothing is known of copies that were submitted",
        "CUDA_ERROR_LAUNCH_FAILED (719)").doesNotContain("drained\n", "hook");
  }
}
