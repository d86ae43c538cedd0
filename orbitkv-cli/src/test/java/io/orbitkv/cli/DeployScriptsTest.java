package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.cli.http.FakeManager;
import io.orbitkv.cli.http.HttpSettings;
import io.orbitkv.cli.http.StatusServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scripts of an installed OrbitKV. */
class DeployScriptsTest {

  private static final Path SCRIPTS = Path.of("src/main/deploy/bin").toAbsolutePath();

  @TempDir
  private Path folder;

  @Test
  void probe_followsTheManagersHealth() throws Exception {
    FakeManager manager = new FakeManager();
    try (StatusServer server = StatusServer.open(manager, HttpSettings.loopback(0))) {
      server.announceIn(folder);
      assertThat(probe("live")).isZero();
      assertThat(probe("ready")).isZero();

      manager.becomeNotReady("it drains");

      assertThat(probe("live")).isZero();
      assertThat(probe("ready")).isNotZero();
    }
    assertThat(probe("live")).as("nobody listens any more").isNotZero();
  }

  @Test
  void probe_withoutAManagerFails() throws Exception {
    assertThat(probe("live")).isNotZero();
  }

  @Test
  void command_isStartedWithTheModulesBesideIt() throws Exception {
    Path java = Files.createDirectories(folder.resolve("jre/bin")).resolve("java");
    Files.writeString(java, "#!/bin/sh\necho $$\nprintf '[%s]' \"$@\"\nexit 7\n");
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path installed = Files.createDirectories(folder.resolve("an app/bin"));
    Files.copy(SCRIPTS.resolve("orbitkv"), installed.resolve("orbitkv"));
    Files.setPosixFilePermissions(installed.resolve("orbitkv"), PosixFilePermissions.fromString("rwxr-xr-x"));
    Path link = Files.createSymbolicLink(folder.resolve("kv"), installed.resolve("orbitkv"));
    ProcessBuilder builder = new ProcessBuilder(link.toString(), "manager", "--dram", "a size");
    builder.environment().put("JAVA_HOME", folder.resolve("jre").toString());

    Process process = builder.start();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(process.waitFor()).isEqualTo(7);
    assertThat(out).startsWith(process.pid() + "\n")
        .containsSubsequence("[-XX:+UseZGC]", "[--module-path][" + folder.toRealPath().resolve("an app/modules") + "]",
            "[--module][io.orbitkv.cli/io.orbitkv.cli.Main]", "[manager][--dram][a size]");
  }

  private int probe(String kind) throws IOException, InterruptedException {
    return new ProcessBuilder(SCRIPTS.resolve("probe").toString(), kind, folder.toString())
        .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD)
        .start().waitFor();
  }
}
