package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.cli.process.ThisProgram;
import io.orbitkv.core.agent.EngineAdapter;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An agent that is told which engine it serves. */
class AgentEngineTest {

  @TempDir
  private Path folder;

  private Path runtime;

  @BeforeEach
  void makeRuntimeFolder() throws IOException {
    runtime = Files.createTempDirectory(Path.of("/dev/shm"), "orbitkv-test-");
  }

  @AfterEach
  void removeRuntimeFolder() {
    ScratchFolder.remove(runtime);
  }

  @Test
  void adapterOfAPlugin_isOpenedBesideTheAgentAndClosedInOrder() throws Exception {
    Module core = EngineAdapter.class.getModule();
    Path plugins = Files.createDirectory(folder.resolve("plugins"));
    PluginBuild.jar("stand-in-engine", plugins.resolve("engine.jar"), Path.of(core.getLayer().configuration()
        .findModule(core.getName()).orElseThrow().reference().location().orElseThrow()));
    Path state = folder.resolve("state");
    Process agent = new ProcessBuilder(ThisProgram.command(arguments("--engine", "stand-in",
        "--state-folder", state.toString(), "--plugins", plugins.toString(), "--until-eof",
        "--host-manager", runtime.resolve("manager").toString(), "--dram", "16MiB")))
        .redirectError(folder.resolve("err").toFile()).start();
    try (BufferedReader out = agent.inputReader()) {
      assertThat(out.readLine()).as(() -> read("err")).startsWith("ready: " + runtime.resolve("rank0.sock"))
          .endsWith(", stand-in scheduler at " + runtime.resolve("scheduler.sock"));
      assertThat(runtime.resolve("scheduler.sock")).exists();
      assertThat(runtime.resolve("manager/manager.sock")).exists();

      agent.getOutputStream().close();

      assertThat(agent.waitFor(1, TimeUnit.MINUTES)).isTrue();
      assertThat(agent.exitValue()).as(() -> read("err")).isZero();
      assertThat(state.resolve("closed")).exists();
      assertThat(runtime.resolve("rank0.sock")).doesNotExist();
      assertThat(runtime.resolve("manager")).isDirectoryNotContaining("glob:**{.sock,.arena}");
    } finally {
      agent.destroyForcibly();
    }
  }

  @Test
  void engineWithoutAnAdapter_isRefusedWithThoseThatThereAre() {
    Invocation run = agent("--engine", "none-such", "--manager", "x");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).startsWith("orbitkv agent: there is no engine adapter named 'none-such'; there are [").hasLineCount(1);
    assertThat(runtime).as("nothing was opened").isEmptyDirectory();
  }

  @Test
  void engineWithoutAManager_isRefused() {
    Invocation run = agent("--engine", "none-such", "--dram", "16MiB");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("needs a Manager", "--host-manager").hasLineCount(1);
    assertThat(runtime).as("nothing was opened").isEmptyDirectory();
  }

  @Test
  void httpOfNoManager_isRefused() {
    Invocation run = Invocation.of("agent", "--socket", "x", "--manager", "y", "--http", "127.0.0.1:0");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("hosts none").hasLineCount(1);
  }

  private Invocation agent(String... more) {
    return Invocation.of(arguments(more).toArray(String[]::new));
  }

  private List<String> arguments(String... more) {
    List<String> arguments = new ArrayList<>(List.of("agent", "--socket", runtime.resolve("rank0.sock").toString(),
        "--engine-socket", runtime.resolve("scheduler.sock").toString()));
    arguments.addAll(List.of(more));
    return arguments;
  }

  private String read(String name) {
    try {
      return Files.readString(folder.resolve(name));
    } catch (IOException e) {
      return e.toString();
    }
  }
}
