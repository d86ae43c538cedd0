package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class PdPlanCommandTest {

  private static final String VLLM = """
      {
        // One host, two GPUs.
        "engine": "vllm",
        "model": {"path": "/models/qwen3-8b"},
        "prefill": [{"name": "p0", "port": 8100, "transfer_port": 5600, "manager": "/run/orbitkv/manager.sock"}],
        "decode": [{"name": "d0", "port": 8200, "transfer_port": 5601, "manager": "/run/orbitkv/manager.sock"}],
      }
      """;

  @TempDir
  private Path folder;

  @Test
  void everyProcess_isPrinted() throws IOException {
    Invocation run = plan(VLLM);

    assertThat(run.err()).isEmpty();
    assertThat(run.exitCode()).isZero();
    assertThat(run.out()).contains("# prefill 'p0' on 127.0.0.1\n", "# decode 'd0' on 127.0.0.1\n", "# router on ",
        "vllm serve /models/qwen3-8b", "vllm-router --vllm-pd-disaggregation");
  }

  @Test
  void json_hasTheSame() throws IOException {
    JsonNode plan = new JsonMapper().readTree(plan(VLLM, "--json").out());

    assertThat(plan.get("processes")).hasSize(3);
    JsonNode first = plan.get("processes").get(0);
    assertThat(first.get("environment").get("VLLM_NIXL_SIDE_CHANNEL_PORT").stringValue()).isEqualTo("5600");
    assertThat(first.get("command").get(0).stringValue()).isEqualTo("vllm");
  }

  @Test
  void everythingUnsafe_isRefusedInALine() throws IOException {
    Invocation run = plan(VLLM.replace("\"name\": \"d0\"", "\"name\": \"d0\", \"cache\": \"read\"")
        .replace("\"engine\"", "\"release\": \"0.30.0\", \"engine\""));

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.out()).isEmpty();
    assertThat(run.err().lines()).hasSize(2)
        .anySatisfy(line -> assertThat(line).contains("release is '0.30.0'").endsWith("[pinned-release]"))
        .anySatisfy(line -> assertThat(line).contains("cache of decode 'd0' is 'read'"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "\"port\": 8200 | \"prot\": 8200 | :6: decode[0].port is missing, expected a whole number from 1 to 65535",
    "\"p0\", \"port\" | \"p0\", \"prot\": 1, \"port\" | :5: prefill[0].prot is no setting; there are cache, ",
    "\"port\": 8200 | \"port\": \"x\" | :6: decode[0].port is 'x', expected a whole number",
    "\"port\": 8200 | \"port\": 99999999999999999999 | :6: decode[0].port is 99999999999999999999, expected",
    "\"port\": 8200 | \"port\": null | :6: decode[0].port is null, expected",
    "\"port\": 8200 | \"port\": 1, \"port\": 2 | :6: no JSON: Duplicate Object property \"port\"",
    "\"port\": 8200 | port: 8200 | :6: no JSON: Unexpected character",
  })
  void mistake_isNamedWithItsLine(String right, String wrong, String message) throws IOException {
    Invocation run = plan(VLLM.replace(right, wrong));

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err().lines()).singleElement().asString().contains("pd.json" + message);
  }

  @Test
  void fileThatIsNoObjectOrNotThere_isRefused() throws IOException {
    assertThat(plan("[1]").err()).contains("pd.json:1: expected one object");
    assertThat(plan("{} {}").err()).contains("pd.json:1: something follows");
    assertThat(Invocation.of("pd", "plan", folder.resolve("no.json").toString()).err())
        .contains("no.json' is not there");
  }

  @Test
  void withoutACommand_itSaysWhatThereIs() {
    assertThat(Invocation.of("pd").out()).contains("plan");
  }

  private Invocation plan(String content, String... more) throws IOException {
    Path file = Files.writeString(folder.resolve("pd.json"), content);
    String[] args = new String[3 + more.length];
    args[0] = "pd";
    args[1] = "plan";
    args[2] = file.toString();
    System.arraycopy(more, 0, args, 3, more.length);
    return Invocation.of(args);
  }
}
