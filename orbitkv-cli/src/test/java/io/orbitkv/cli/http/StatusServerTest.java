package io.orbitkv.cli.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class StatusServerTest {

  private static final String TOKEN = "a token nobody guesses";
  private static final String BEARER = "Authorization: Bearer " + TOKEN;

  @TempDir
  private Path folder;

  private final FakeManager manager = new FakeManager();
  private StatusServer server;
  private Client client;

  @BeforeEach
  void open() throws IOException {
    server = StatusServer.open(manager, new HttpSettings(new InetSocketAddress("127.0.0.1", 0),
        Optional.of(secret("token", TOKEN)), Optional.empty(), Optional.empty()));
    client = new Client(server.uri());
  }

  @AfterEach
  void close() {
    server.close();
  }

  @Test
  void statusJson_saysWhatTheManagerSays() {
    JsonNode status = json(client.get("/status.json"));

    assertThat(status.at("/software").stringValue()).isEqualTo("orbitkv 1.2.3");
    assertThat(status.at("/incarnation").stringValue()).isEqualTo("fffffffffffffffe");
    assertThat(status.at("/cache/blocks/hit_ssd").longValue()).isEqualTo(150);
    assertThat(status.at("/cache/blocks_missed_by_reason/no_memory").longValue()).isEqualTo(40);
    assertThat(status.at("/cache/tokens/missed").longValue()).isEqualTo(4_000);
    assertThat(status.at("/instances/1/ranks_in").intValue()).isEqualTo(1);
    assertThat(status.at("/quarantine/0/waiting_for").stringValue()).isEqualTo("process 4711 to be gone");
    assertThat(status.at("/core/event_p99_nanos").longValue()).isEqualTo(4_200);
  }

  @ParameterizedTest
  @CsvSource({"/health, 200, 503", "/health/ready, 200, 503", "/health/live, 200, 200"})
  void health_followsTheManager(String path, int whenReady, int whenNot) {
    assertThat(client.get(path).status()).isEqualTo(whenReady);

    manager.becomeNotReady("SSD is read-only: no space left");

    Client.Reply reply = client.get(path);
    assertThat(reply.status()).isEqualTo(whenNot);
    assertThat(json(reply).get("live").booleanValue()).isTrue();
    assertThat(json(reply).get("ready").booleanValue()).isFalse();
  }

  @Test
  void health_namesWhatIsDegraded() {
    manager.becomeNotReady("SSD is read-only: no space left");

    assertThat(json(client.get("/health")).at("/degraded/0").stringValue())
        .isEqualTo("SSD is read-only: no space left");
  }

  @Test
  void unexpectedFailure_is500AndNotTold() {
    manager.breakDown();

    assertThat(client.get("/status.json")).matches(reply -> reply.status() == 500 && !reply.body().contains("broken"));
  }

  @Test
  void head_hasNoBody() {
    Client.Reply reply = client.send("HEAD", "/status.json");

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.body()).isEmpty();
    assertThat(Integer.parseInt(reply.headers().get("content-length"))).isPositive();
  }

  @ParameterizedTest
  @CsvSource({"POST, /status.json, GET", "DELETE, /metrics, GET", "GET, /admin/drain, POST", "PUT, /admin/flush, POST"})
  void methodOfAnotherKind_hasNoEffect(String method, String path, String allowed) {
    Client.Reply reply = client.send(method, path, BEARER);

    assertThat(reply.status()).isEqualTo(405);
    assertThat(reply.headers().get("allow")).contains(allowed);
    assertThat(manager.asked()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/status.html", "/admin", "/admin/drain/", "/metrics/x", "/../etc/passwd", "/%2e%2e/x"})
  void unknownPath_is404(String path) {
    assertThat(client.get(path).status()).isEqualTo(404);
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost", "LOCALHOST:1", "127.0.0.1:9400", "127.1.2.3", "[::1]:9400"})
  void ownName_isServed(String host) {
    assertThat(client.get("/health", "Host: " + host).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9400", "10.0.0.1", "[::2]", ""})
  void foreignName_isRefused(String host) {
    assertThat(client.get("/status.json", "Host: " + host).status()).isIn(400, 421);
    assertThat(client.post("/admin/drain", BEARER, "Host: " + host).status()).isIn(400, 421);
    assertThat(manager.asked()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "/admin/drain | drain | {\"draining\":true}",
      "/admin/flush | flush PT30S | {\"all_written\":true}",
      "/admin/evict?bytes=1GiB | evict 1GiB | {\"bytes_freed\":4096}",
      "/admin/evict?bytes=4096 | evict 4KiB | {\"bytes_freed\":4096}",
      "/admin/drop?namespace=00000000000000000000000000000000000000000000000000000000000000ab | drop 000000000000 "
          + "| {\"blocks_dropped\":12}"})
  void adminVerb_withTheToken_isDone(String path, String asked, String answer) {
    Client.Reply reply = client.post(path, BEARER);

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.body().strip()).isEqualTo(answer);
    assertThat(manager.asked()).containsExactly(asked);
  }

  @ParameterizedTest
  @ValueSource(strings = {"X: none", "Authorization: Bearer wrong", "Authorization: Bearer ", "Authorization: Bearer",
      "Authorization: " + TOKEN, "Authorization: Bearer " + TOKEN + "x"})
  void adminVerb_withoutTheToken_isRefused(String header) {
    assertThat(client.post("/admin/drain", header).status()).isEqualTo(401);
    assertThat(manager.asked()).isEmpty();
  }

  @Test
  void adminVerb_withThePasswordOfABrowser_isRefused() {
    assertThat(client.post("/admin/drain", basic(TOKEN)).status()).isEqualTo(401);
    assertThat(manager.asked()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(quoteCharacter = '"', value = {
      "/admin/evict, parameter 'bytes' is missing", "/admin/evict?bytes=1GB, size '1GB' is not a number",
      "/admin/evict?bytes=1&bytes=2, is given twice", "/admin/drain?force=1, parameter 'force' is unknown",
      "/admin/drop?namespace=xyz, digest 'xyz' is not 64", "/admin/evict?bytes=%zz, 400"})
  void adminVerb_withAWrongParameter_isRefused(String path, String why) {
    Client.Reply reply = client.post(path, BEARER);

    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.status() + reply.body()).contains(why);
    assertThat(manager.asked()).isEmpty();
  }

  @Test
  void adminVerb_thatTheCacheCannotDo_is503() {
    assertThat(client.post("/admin/drop?namespace=" + "f".repeat(64), BEARER).status()).isEqualTo(503);
  }

  @Test
  void withoutAToken_adminVerbsAreOff() {
    try (StatusServer open = StatusServer.open(manager, HttpSettings.loopback(0))) {
      assertThat(new Client(open.uri()).post("/admin/drain", BEARER).status()).isEqualTo(403);
    }
    assertThat(manager.asked()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"})
  void body_isRefused(String lengthAndBody) {
    Client.Reply reply =
        client.raw("POST /admin/drain HTTP/1.1\r\nHost: localhost\r\n" + BEARER + "\r\n" + lengthAndBody);

    assertThat(reply.status()).isEqualTo(413);
    assertThat(manager.asked()).isEmpty();
  }

  @Test
  void hugeHeaders_areCutOff() {
    assertThat(client.raw("GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(100_000) + "\r\n\r\n").status())
        .isNotEqualTo(200);
    assertThat(client.get("/health").status()).isEqualTo(200);
  }

  @Test
  void connectionsThatSayNothing_doNotKeepOthersOut() throws IOException {
    List<Socket> silent = new ArrayList<>();
    try {
      for (int i = 0; i < 32; i++) {
        Socket socket = new Socket(server.uri().getHost(), server.uri().getPort());
        silent.add(socket);
        socket.getOutputStream().write("GET /hea".getBytes(StandardCharsets.US_ASCII));
      }
      assertThat(client.get("/health").status()).isEqualTo(200);
    } finally {
      for (Socket socket : silent) {
        socket.close();
      }
    }
  }

  @Test
  void requestThatNeverEnds_isCut() {
    Client.Reply reply = client.raw("GET /health HTTP/1.1\r\nHost: localhost\r\n");

    assertThat(reply.status()).as("the server closes it after 5 s; the client would wait 20").isNotEqualTo(200);
  }

  @Test
  void page_isCompleteAndLetsNothingElseIn() {
    Client.Reply page = client.get("/status");

    assertThat(page.headers())
        .containsEntry("x-content-type-options", "nosniff").containsEntry("cache-control", "no-store");
    assertThat(page.headers().get("content-security-policy"))
        .contains("default-src 'none'", "frame-ancestors 'none'", "script-src 'sha256-").doesNotContain("unsafe");
    assertThat(page.body()).doesNotContain("src=", "url(", "@import", "/*STYLE*/", "/*SCRIPT*/", "href=\"http");
  }

  @Test
  void announceIn_leavesTheAddress() throws IOException {
    server.announceIn(folder);

    assertThat(folder.resolve("manager.http")).hasContent(server.uri().toString());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("manager.http"))))
        .isEqualTo("rw-------");

    server.close();

    assertThat(folder.resolve("manager.http")).doesNotExist();
  }

  @Test
  void portInUse_isUnavailable() throws IOException {
    try (ServerSocket taken = new ServerSocket(0)) {
      assertThatThrownBy(() -> StatusServer.open(manager, HttpSettings.loopback(taken.getLocalPort())))
          .isInstanceOf(UnavailableException.class)
          .hasMessageContaining("127.0.0.1:" + taken.getLocalPort(), "Address already in use", "--http");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.0.0.0", "10.1.2.3", "::"})
  void otherHosts_needTlsAndAToken(String address) {
    InetSocketAddress beyond = new InetSocketAddress(address, 0);
    Optional<Path> some = Optional.of(folder.resolve("any"));

    for (Optional<Path> token : List.of(Optional.<Path>empty(), some)) {
      Optional<Path> keys = token.isPresent() ? Optional.empty() : some;
      assertThatThrownBy(() -> new HttpSettings(beyond, token, keys, Optional.empty()))
          .isInstanceOf(RefusedException.class)
          .hasMessageContaining("needs TLS and a token", "--http-tls", "127.0.0.1");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rw-r--r--", "rw-rw----", "rwxrwxrwx"})
  void tokenThatOthersCanRead_isRefused(String mode) throws IOException {
    Path token = secret("shown", TOKEN);
    Files.setPosixFilePermissions(token, PosixFilePermissions.fromString(mode));

    assertThatThrownBy(() -> Token.read(token)).isInstanceOf(RefusedException.class)
        .hasMessageContaining(mode).hasMessageContaining("chmod 600");
  }

  @ParameterizedTest
  @CsvSource({"'', is empty", "short, at least 16"})
  void unusableToken_isRefused(String content, String why) throws IOException {
    Path token = secret("unusable", content);

    assertThatThrownBy(() -> Token.read(token)).isInstanceOf(RefusedException.class).hasMessageContaining(why);
  }

  @Test
  void missingToken_isRefused() {
    assertThatThrownBy(() -> Token.read(folder.resolve("absent"))).isInstanceOf(RefusedException.class)
        .hasMessageContaining("there is no such file");
  }

  private static String basic(String password) {
    return "Authorization: Basic "
        + Base64.getEncoder().encodeToString(("operator:" + password).getBytes(StandardCharsets.UTF_8));
  }

  private static JsonNode json(Client.Reply reply) {
    assertThat(reply.headers()).containsEntry("content-type", "application/json");
    return new JsonMapper().readTree(reply.body());
  }

  private Path secret(String name, String content) throws IOException {
    Path file = folder.resolve(name);
    Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    return Files.writeString(file, content + "\n");
  }
}
