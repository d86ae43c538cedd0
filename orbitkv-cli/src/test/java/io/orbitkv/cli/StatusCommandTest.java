package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.orbitkv.cli.http.FakeManager;
import io.orbitkv.cli.http.HttpSettings;
import io.orbitkv.cli.http.StatusServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class StatusCommandTest {

  @TempDir
  private Path runtime;

  private final FakeManager manager = new FakeManager();

  @Test
  void managerOfARuntimeFolder_isShown() {
    try (StatusServer server = StatusServer.open(manager, HttpSettings.loopback(0))) {
      server.announceIn(runtime);

      Invocation run = Invocation.of("status", "--runtime", runtime.toString());

      assertThat(run.err()).isEmpty();
      assertThat(run.exitCode()).isZero();
      assertThat(run.out())
          .startsWith("orbitkv 1.2.3: ready, up ")
          .contains("1,000 queried = 600 hit in DRAM + 150 hit on SSD + 250 missed (75.0 % hit)")
          .contains("not_stored 200, failed_read 10, no_memory 40")
          .containsPattern("dram +512MiB +1GiB +50.0 % +400\n")
          .containsPattern("ssd +3GiB +12GiB +25.0 % +800 +healthy")
          .containsPattern("engine-b +registering +1 of 4")
          .contains("process 4711 to be gone");
    }
  }

  @Test
  void json_isTheStatusItself() {
    try (StatusServer server = StatusServer.open(manager, HttpSettings.loopback(0))) {
      Invocation run = Invocation.of("status", "--http", server.uri().toString(), "--json");

      JsonNode status = new JsonMapper().readTree(run.out());
      assertThat(status.at("/cache/blocks/queried").longValue()).isEqualTo(1_000);
    }
  }

  @Test
  void managerThatIsNotReady_endsWithOne() {
    manager.becomeNotReady("SSD is off: reads fail");
    try (StatusServer server = StatusServer.open(manager, HttpSettings.loopback(0))) {
      Invocation run = Invocation.of("status", "--http", server.uri().toString());

      assertThat(run.exitCode()).isEqualTo(1);
      assertThat(run.out()).contains(": not ready", "degraded: SSD is off: reads fail");
    }
  }

  @Test
  void folderWithoutAManager_isOneLineAndCodeOne() {
    assertThat(Invocation.of("status", "--runtime", runtime.toString())).isEqualTo(new Invocation(1, "",
        "orbitkv status: no Manager with HTTP runs in '" + runtime + "' (there is no manager.http); start one, or name"
            + " another with --runtime or --http\n"));
  }

  @Test
  void portWhereNobodyListens_isOneLineAndCodeOne() throws IOException {
    // Taken, so that nobody else listens there meanwhile.
    try (Socket taken = new Socket()) {
      taken.bind(new InetSocketAddress("127.0.0.1", 0));
      String address = "http://127.0.0.1:" + taken.getLocalPort();

      Invocation run = Invocation.of("status", "--http", address);

      assertThat(run.exitCode()).isEqualTo(1);
      assertThat(run.err())
          .isEqualTo("orbitkv status: no Manager answers at " + address + ": nothing listens there\n");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"<p/>", "", "{}", "[1]", "{\"cache\""})
  void somethingElseThatAnswers_isOneLineAndCodeOne(String body) throws IOException {
    HttpServer other = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
    other.createContext("/", exchange -> {
      exchange.sendResponseHeaders(200, 0);
      exchange.getResponseBody().write(body.getBytes(StandardCharsets.UTF_8));
      exchange.close();
    });
    other.start();
    try {
      Invocation run = Invocation.of("status", "--http", "http://127.0.0.1:" + other.getAddress().getPort());

      assertThat(run.exitCode()).isEqualTo(1);
      assertThat(run.err()).endsWith(" is no Manager: it sent no status\n");
    } finally {
      other.stop(0);
    }
  }

  @Test
  void addressThatIsNone_isAMistake() {
    Invocation run = Invocation.of("status", "--http", "ftp://x");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("'ftp://x' is not an address as http://127.0.0.1:9470");
  }
}
