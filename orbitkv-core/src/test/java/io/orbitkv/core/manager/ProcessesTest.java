package io.orbitkv.core.manager;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessesTest {

  private static final Processes HERE = new Processes(Path.of("/proc"));

  @TempDir
  private Path proc;

  @Test
  void aLivingProcess_isNotGone() throws IOException {
    long pid = ProcessHandle.current().pid();
    long startTime = HERE.startTime(pid).orElseThrow();
    assertThat(HERE.isGone(pid, startTime)).isFalse();
    assertThat(HERE.ownNamespace()).isPositive();
  }

  @Test
  void aNumberUsedAgain_isAnotherProcess() throws IOException {
    long pid = ProcessHandle.current().pid();
    assertThat(HERE.isGone(pid, HERE.startTime(pid).orElseThrow() - 1)).isTrue();
  }

  @Test
  void aReapedProcess_isGone() throws IOException, InterruptedException {
    Process process = new ProcessBuilder("sleep", "60").start();
    long startTime = HERE.startTime(process.pid()).orElseThrow();
    assertThat(HERE.isGone(process.pid(), startTime)).isFalse();
    process.destroyForcibly().waitFor();
    assertThat(HERE.isGone(process.pid(), startTime)).isTrue();
    assertThat(HERE.startTime(process.pid())).isEmpty();
  }

  @Test
  void aZombie_isGone_whenItsLastThreadIs() throws IOException {
    stat("4711", "4711", "Z");
    stat("4711", "4712", "S");
    Processes shown = new Processes(proc);
    assertThat(shown.isGone(4711, 99)).isFalse();
    stat("4711", "4712", "Z");
    assertThat(shown.isGone(4711, 99)).isTrue();
  }

  @Test
  void whatCannotBeRead_isNoProof() throws IOException {
    Files.createDirectories(proc.resolve("4711"));
    Files.writeString(proc.resolve("4711/stat"), "4711 (half");
    assertThat(new Processes(proc).isGone(4711, 99)).isFalse();
  }

  /** As the kernel shows it, with a name that looks like fields. */
  private void stat(String process, String thread, String state) throws IOException {
    String line = thread + " (a b) Z 1) " + state + " 1".repeat(18) + " 99 5 6 7\n";
    Files.createDirectories(proc.resolve(process).resolve("task").resolve(thread));
    Files.writeString(proc.resolve(process).resolve("task").resolve(thread).resolve("stat"), line);
    if (process.equals(thread)) {
      Files.writeString(proc.resolve(process).resolve("stat"), line);
    }
  }
}
