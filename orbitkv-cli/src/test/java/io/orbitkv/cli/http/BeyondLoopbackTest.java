package io.orbitkv.cli.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that other hosts can reach: TLS, and the token for everything. */
@TestInstance(Lifecycle.PER_CLASS)
class BeyondLoopbackTest {

  private static final String TOKEN = "a token nobody guesses";
  private static final String PASSWORD = "the password of the store";

  private Path folder;

  private Path pkcs12;
  private Path password;
  private Path token;
  private KeyStore keys;
  private HttpClient client;

  @BeforeAll
  void makeKeys(@TempDir Path temp) throws Exception {
    folder = temp;
    pkcs12 = folder.resolve("server.p12");
    Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
        "-genkeypair", "-alias", "server", "-keyalg", "EC", "-dname", "CN=orbitkv", "-ext", "SAN=ip:127.0.0.1",
        "-storetype", "PKCS12", "-keystore", pkcs12.toString(), "-storepass", PASSWORD)
        .redirectErrorStream(true).start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(said).isZero();
    Files.setPosixFilePermissions(pkcs12, PosixFilePermissions.fromString("rw-------"));
    password = secret("password", PASSWORD);
    token = secret("token", TOKEN);
    keys = KeyStore.getInstance("PKCS12");
    keys.load(new ByteArrayInputStream(Files.readAllBytes(pkcs12)), PASSWORD.toCharArray());
    client = HttpClient.newBuilder().sslContext(trustingThis()).build();
  }

  @Test
  void everything_needsTheToken() throws Exception {
    try (StatusServer server = serve(pkcs12, Optional.of(password))) {
      for (String path : new String[] {"/", "/status", "/status.json", "/metrics", "/health", "/health/live"}) {
        assertThat(status(server, "GET", path, null)).as(path).isEqualTo(401);
        assertThat(status(server, "GET", path, "Bearer wrong")).as(path).isEqualTo(401);
        assertThat(status(server, "GET", path, "Bearer " + TOKEN)).as(path).isEqualTo(200);
      }
    }
  }

  @Test
  void browsersPassword_reads_butDoesNotOperate() throws Exception {
    String basic = "Basic " + Base64.getEncoder().encodeToString(("me:" + TOKEN).getBytes(StandardCharsets.UTF_8));
    try (StatusServer server = serve(pkcs12, Optional.of(password))) {
      assertThat(status(server, "GET", "/status", basic)).isEqualTo(200);
      assertThat(status(server, "POST", "/admin/drain", basic)).isEqualTo(401);
      assertThat(status(server, "POST", "/admin/drain", "Bearer " + TOKEN)).isEqualTo(200);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"Basic", "Basic ", "Basic %%%", "Basic dG9rZW4=", "Digest x"})
  void malformedPasswords_areRefused(String authorization) throws Exception {
    try (StatusServer server = serve(pkcs12, Optional.of(password))) {
      assertThat(status(server, "GET", "/status", authorization)).isEqualTo(401);
    }
  }

  @Test
  void plainHttp_getsNothing() throws Exception {
    try (StatusServer server = serve(pkcs12, Optional.of(password))) {
      URI plain = URI.create("http://127.0.0.1:" + server.uri().getPort());
      assertThat(new Client(plain).get("/health", "Authorization: Bearer " + TOKEN).status()).isNotEqualTo(200);
    }
  }

  @Test
  void pem_isAKeyStoreToo() throws Exception {
    try (StatusServer server = serve(pem("server.pem"), Optional.empty())) {
      assertThat(status(server, "GET", "/health", "Bearer " + TOKEN)).isEqualTo(200);
    }
  }

  @Test
  void wrongPassword_isRefused() throws IOException {
    Path wrong = secret("wrong", "not the password");

    assertThatThrownBy(() -> serve(pkcs12, Optional.of(wrong))).isInstanceOf(RefusedException.class)
        .hasMessageContaining("key store '" + pkcs12 + "' cannot be used", "password");
  }

  @Test
  void keyThatOthersCanRead_isRefused() throws Exception {
    Path shown = pem("shown.pem");
    Files.setPosixFilePermissions(shown, PosixFilePermissions.fromString("rw-r--r--"));

    assertThatThrownBy(() -> serve(shown, Optional.empty())).isInstanceOf(RefusedException.class)
        .hasMessageContaining("chmod 600");
  }

  @Test
  void pemWithoutAKey_isRefused() throws Exception {
    Path certificate = secret("certificate.pem", pemOf("CERTIFICATE", keys.getCertificate("server").getEncoded()));

    assertThatThrownBy(() -> serve(certificate, Optional.empty())).isInstanceOf(RefusedException.class)
        .hasMessageContaining("has no private key");
  }

  private StatusServer serve(Path keyStore, Optional<Path> passwordFile) {
    return StatusServer.open(new FakeManager(), new HttpSettings(
        new InetSocketAddress("0.0.0.0", 0), Optional.of(token), Optional.of(keyStore), passwordFile));
  }

  private int status(StatusServer server, String method, String path, String authorization) throws Exception {
    URI uri = URI.create("https://127.0.0.1:" + server.uri().getPort() + path);
    HttpRequest.Builder request = HttpRequest.newBuilder(uri).method(method, HttpRequest.BodyPublishers.noBody());
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.discarding()).statusCode();
  }

  private Path pem(String name) throws Exception {
    return secret(name, pemOf("CERTIFICATE", keys.getCertificate("server").getEncoded())
        + pemOf("PRIVATE KEY", keys.getKey("server", PASSWORD.toCharArray()).getEncoded()));
  }

  private static String pemOf(String what, byte[] content) {
    return "-----BEGIN " + what + "-----\n" + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content)
        + "\n-----END " + what + "-----\n";
  }

  private SSLContext trustingThis() throws Exception {
    Certificate certificate = keys.getCertificate("server");
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("server", certificate);
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  private Path secret(String name, String content) throws IOException {
    Path file = Files.createFile(folder.resolve(name),
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    return Files.writeString(file, content + "\n");
  }
}
