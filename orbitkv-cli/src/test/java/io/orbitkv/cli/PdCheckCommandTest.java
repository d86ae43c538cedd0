package io.orbitkv.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Real servers that answer as the released engines, their routers and a Manager do. */
class PdCheckCommandTest {

  private static final String METRICS = """
      # HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
      vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",kv_cache_layout="None"} 1.0
      vllm:nixl_num_failed_transfers_total{engine="0",model_name="m"} 0.0
      vllm:orbitkv_saved_tokens_total{engine="0",model_name="m"} 0.0
      """;

  @TempDir
  private Path folder;

  private final List<Stand> stands = new ArrayList<>();

  /**
   * A server, whose answers a test can change. A path without one is 404. Not the JDK's, whose bounds are those of its
   * first use in a process.
   */
  private final class Stand {
    final Map<String, String> answers = new ConcurrentHashMap<>();
    final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    final int port = socket.getLocalPort();

    Stand() throws IOException {
      stands.add(this);
      Thread.ofVirtual().start(this::serve);
    }

    private void serve() {
      while (!socket.isClosed()) {
        try (Socket client = socket.accept();
            BufferedReader in = new BufferedReader(new InputStreamReader(client.getInputStream(), UTF_8))) {
          String path = in.readLine().split(" ")[1];
          while (!in.readLine().isEmpty()) {
            // A header.
          }
          String answer = answers.get(path);
          byte[] body = (answer == null ? "" : answer).getBytes(UTF_8);
          client.getOutputStream().write(("HTTP/1.1 " + (answer == null ? "404 Not Found" : "200 OK")
              + "\r\nContent-Length: " + body.length + "\r\nConnection: close\r\n\r\n").getBytes(UTF_8));
          client.getOutputStream().write(body);
        } catch (IOException e) {
          // The client has gone, or the test has ended.
        }
      }
    }

    Stand says(String path, String answer) {
      answers.put(path, answer);
      return this;
    }
  }

  @AfterEach
  void stop() throws IOException {
    for (Stand stand : stands) {
      stand.socket.close();
    }
  }

  private Stand vllm() throws IOException {
    return new Stand().says("/health", "").says("/version", "{\"version\": \"0.31.0+cpu\"}")
        .says("/v1/models", "{\"object\": \"list\", \"data\": [{\"id\": \"m\"}]}").says("/metrics", METRICS);
  }

  private Stand manager(String... namespaces) throws IOException {
    List<String> instances = new ArrayList<>();
    for (String namespace : namespaces) {
      instances.add("{\"name\": \"x\", \"namespace\": \"" + namespace + "\", \"state\": \"open\"}");
    }
    return new Stand().says("/status.json", "{\"ready\": true, \"degraded\": [], \"cache\": {}, \"quarantine\": [],"
        + " \"instances\": [" + String.join(", ", instances) + "]}");
  }

  private Stand router() throws IOException {
    return new Stand().says("/health", "OK");
  }

  private Invocation check(Stand prefill, Stand decode, Stand manager, Stand router, String... more)
      throws IOException {
    return check(prefill.port, decode.port, manager.port, router.port, more);
  }

  private Invocation check(int prefill, int decode, int manager, int router, String... more) throws IOException {
    String worker = """
        {"name": "%s", "port": %d, "transfer_port": %d, "manager": "/run/m.sock", "manager_http": "http://127.0.0.1:%d"}
        """;
    return check("""
        {"engine": "vllm", "model": {"path": "/models/m", "served_name": "m"}, "router": {"port": %d},
         "prefill": [%s], "decode": [%s]}
        """.formatted(router, worker.formatted("p0", prefill, 1, manager), worker.formatted("d0", decode, 2, manager)),
        more);
  }

  private Invocation check(String content, String... more) throws IOException {
    Path file = Files.writeString(folder.resolve("pd.json"), content);
    List<String> args = new ArrayList<>(List.of("pd", "check", file.toString(), "--limit", "60"));
    args.addAll(List.of(more));
    return Invocation.of(args.toArray(String[]::new));
  }

  @Test
  void compositionThatRunsAsItsFileSays_isOk() throws IOException {
    Invocation run = check(vllm(), vllm(), manager("aa", "aa", "bb"), router());

    assertThat(run.err()).isEmpty();
    assertThat(run.out()).doesNotContain("FAIL", "WARN").contains("prefill 'p0', release", "decode 'd0', block_size",
        "2 instances in one namespace", "router, health");
    assertThat(run.exitCode()).isZero();
  }

  @Test
  void everythingElse_isNamed() throws IOException {
    Stand prefill = vllm().says("/version", "{\"version\": \"0.30.0\"}")
        .says("/metrics", METRICS.replace("vllm:orbitkv", "vllm:other"));
    Stand decode = vllm().says("/v1/models", "{\"data\": [{\"id\": \"other\"}]}")
        .says("/metrics", METRICS.replace("\"16\"", "\"32\"").replace("vllm:nixl", "vllm:other"));
    Stand router = new Stand();

    Invocation run = check(prefill, decode, manager("aa", "bb"), router, "--json");

    assertThat(run.exitCode()).isEqualTo(1);
    JsonNode findings = new JsonMapper().readTree(run.out());
    assertThat(findings.get("verdict").stringValue()).isEqualTo("fail");
    assertThat(findings.get("checks")).filteredOn(check -> check.get("verdict").stringValue().equals("fail"))
        .extracting(check -> check.get("what").stringValue() + ": " + check.get("found").stringValue())
        .containsExactly(
            "prefill 'p0', release: 0.30.0",
            "prefill 'p0', OrbitKvConnector: not loaded",
            "decode 'd0', model: other",
            "decode 'd0', block_size: 32",
            "decode 'd0', NixlConnector: not loaded",
            "Manager at " + findings.get("checks").findValuesAsString("what").stream()
                .filter(what -> what.contains("namespaces")).findFirst().orElseThrow().substring(11)
                + ": at most 1 instances in one namespace of 2",
            "router, health: status 404");
  }

  @Test
  void whoeverDoesNotAnswer_isNamed() throws IOException {
    // Taken, so that nobody else listens there meanwhile.
    try (Socket taken = new Socket()) {
      taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      int gone = taken.getLocalPort();

      Invocation run = check(vllm().port, gone, gone, router().port);

      assertThat(run.exitCode()).isEqualTo(1);
      assertThat(run.out()).contains("FAIL  decode 'd0', health", "nothing listens there", "no Manager answers at");
    }
  }

  @Test
  void managerThatIsDegraded_isAWarning() throws IOException {
    Stand manager = manager("aa", "aa");
    manager.says("/status.json", manager.answers.get("/status.json")
        .replace("\"degraded\": []", "\"degraded\": [\"SSD is read-only\"]")
        .replace("\"quarantine\": []", "\"quarantine\": [{\"bytes\": 7}]"));

    Invocation run = check(vllm(), vllm(), manager, router());

    assertThat(run.exitCode()).isZero();
    assertThat(run.out()).contains("SSD is read-only", "7 bytes");
  }

  @Test
  void sglang_isAskedForItsSettings() throws IOException {
    Stand prefill = sglang("prefill", "\"disaggregation_bootstrap_port\": 8998");
    Stand decode = sglang("decode", "\"disaggregation_decode_retraction_backup\": \"host_pool\"");
    String composition = """
        {"engine": "sglang", "model": {"path": "/models/m", "served_name": "m"}, "router": {"port": %d},
         "prefill": [{"name": "p0", "port": %d, "manager": "/run/m.sock"}],
         "decode": [{"name": "d0", "port": %d, "manager": "/run/m.sock"}]}
        """.formatted(router().port, prefill.port, decode.port);

    Invocation run = check(composition, "--json");

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(new JsonMapper().readTree(run.out()).get("checks"))
        .filteredOn(check -> check.get("verdict").stringValue().equals("fail"))
        .extracting(check -> check.get("what").stringValue() + ": " + check.get("found").stringValue())
        .containsExactly("decode 'd0', disaggregation_decode_retraction_backup: host_pool");
  }

  private Stand sglang(String mode, String more) throws IOException {
    return new Stand().says("/health", "").says("/model_info", "{\"served_model_name\": \"m\"}")
        .says("/server_info", """
            {"version": "0.5.22", "disaggregation_mode": "%s", "page_size": 64, "tp_size": 1,
             "disaggregation_transfer_backend": "mooncake", "disaggregation_enable_kv_checksum": true,
             "enable_unified_cache_external_linker": true, "radix_cache_backend": "orbitkv", %s}
            """.formatted(mode, more));
  }

  @Test
  void unsafeComposition_isNotAsked() throws IOException {
    Invocation run = check("""
        {"engine": "vllm", "model": {"path": "/m"}, "transport": {"mode": "push"},
         "prefill": [{"name": "p0", "port": 1, "manager": "/run/m.sock"}],
         "decode": [{"name": "d0", "port": 2, "transfer_port": 3, "manager": "/run/m.sock"}]}
        """);

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("[pull-transport]");
  }
}
