package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** On the machine that runs the tests, whatever it is. */
class DoctorCommandTest {

  @TempDir
  private Path folder;

  @Test
  void everyCheck_hasALine() {
    Invocation run = Invocation.of("doctor", "--dir", folder.toString());

    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains("java", "kernel", "processor", "memory", "cgroup memory", "runtime folder",
        "huge pages", "locked memory", "open files", "io_uring", "file system", "disk space", "GPUs", "container");
  }

  @Test
  void trial_leavesNothing() throws IOException {
    Invocation.of("doctor", "--dir", folder.toString());

    try (Stream<Path> left = Files.list(folder)) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void moreMemoryThanThereIs_endsWithOne() {
    Invocation run = Invocation.of("doctor", "--dram", "1000000TiB", "--json");

    assertThat(run.exitCode()).isEqualTo(1);
    JsonNode findings = new JsonMapper().readTree(run.out());
    assertThat(findings.get("verdict").stringValue()).isEqualTo("fail");
    assertThat(findings.get("checks")).anySatisfy(check -> {
      assertThat(check.get("what").stringValue()).isEqualTo("memory");
      assertThat(check.get("verdict").stringValue()).isEqualTo("fail");
      assertThat(check.get("fix").stringValue()).contains("lower --dram");
    });
  }

  @Test
  void folderThatIsMissing_endsWithOne() {
    Invocation run = Invocation.of("doctor", "--dir", folder.resolve("absent").toString());

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.out()).contains("FAIL  SSD folder");
  }
}
