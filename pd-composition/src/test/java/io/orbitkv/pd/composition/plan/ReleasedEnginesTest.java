package io.orbitkv.pd.composition.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.pd.composition.Draft;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

/** The released engines read what is planned with their own parsers, in environments that {@code .ci} makes once. */
class ReleasedEnginesTest {

  private static final int LIMIT_MINUTES = 10;
  private static final String ADAPTER = "../adapter-vllm/src/main/python:../adapter-sglang/src/main/python"
      + ":../orbitkv-core/src/main/python";

  @TempDir
  private Path folder;

  @Test
  void vllm_readsEveryPlan() throws IOException, InterruptedException {
    List<ProcessPlan> plans = new ArrayList<>(workers(Draft.vllm().set("model.digest", "ab".repeat(32))
        .set("decode[0].scope", "s").set("prefill[0].scope", "s").set("prefill[1].scope", "s")));
    plans.addAll(workers(Draft.vllm().set("decode[0].cache", "off")));
    assertThat(read("../.ci/vllm-env", "vllm_reads.py", plans)).endsWith(plans.size() + " plans read");
  }

  @Test
  void sglang_readsEveryPlan() throws IOException, InterruptedException {
    List<ProcessPlan> plans = new ArrayList<>(workers(Draft.sglang()));
    plans.addAll(workers(Draft.sglang().set("transport.name", "nixl").set("transport.retraction", "none")));
    plans.addAll(workers(Draft.sglang().set("decode[0].cache", "off").set("transport.retraction", "host_pool")));
    assertThat(read("../.ci/sglang-env", "sglang_reads.py", plans)).endsWith(plans.size() + " plans read");
  }

  @Test
  void routers_haveEveryOptionThatIsPlanned() throws IOException {
    for (Draft draft : List.of(Draft.vllm(), Draft.sglang())) {
      ProcessPlan router = Planner.plan(draft.composition()).getLast();
      List<String> options = router.command().stream().filter(word -> word.startsWith("--")).toList();
      String distribution = router.shell().contains("sglang_router") ? "sglang-router" : "vllm-router";
      assertThat(recorded(distribution)).containsAll(options);
    }
  }

  private static List<ProcessPlan> workers(Draft draft) {
    List<ProcessPlan> plans = Planner.plan(draft.composition());
    return plans.subList(0, plans.size() - 1);
  }

  private static List<String> recorded(String router) throws IOException {
    try (InputStream in = ReleasedEnginesTest.class.getResourceAsStream("routers.txt");
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      return lines.lines().filter(line -> line.startsWith(router + ": "))
          .flatMap(line -> List.of(line.substring(router.length() + 2).split(" ")).stream()).toList();
    }
  }

  private String read(String environment, String script, List<ProcessPlan> plans)
      throws IOException, InterruptedException {
    String python = run(List.of(environment), null).lines().reduce((_, last) -> last).orElseThrow() + "/bin/python";
    Path input = Files.writeString(folder.resolve("plans.json"), JsonMapper.shared().writeValueAsString(plans.stream()
        .map(plan -> Map.of("command", plan.command(), "environment", plan.environment())).toList()));
    return run(List.of(python, "src/test/python/" + script), input).strip();
  }

  private String run(List<String> command, Path input) throws IOException, InterruptedException {
    Path output = Files.createTempFile(folder, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    if (input != null) {
      builder.redirectInput(input.toFile());
    }
    builder.environment().put("PYTHONPATH", ADAPTER);
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    builder.environment().put("VLLM_LOGGING_LEVEL", "ERROR");
    builder.environment().put("HF_HUB_OFFLINE", "1");
    Process process = builder.start();
    try {
      assertThat(process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)).as("%s ended in time", command).isTrue();
    } finally {
      process.destroyForcibly();
    }
    String text = Files.readString(output);
    assertThat(process.exitValue()).as(text).isZero();
    return text;
  }
}
