package io.orbitkv.cli.http;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Asks a {@link StatusServer} for its status. */
public final class StatusClient {

  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final int MAX_ADDRESS_BYTES = 1024;

  private StatusClient() {}

  /**
   * Returns the address that a Manager left in its runtime folder.
   *
   * @param runtimeFolder the folder
   * @throws UnavailableException if there is none
   */
  public static URI addressIn(Path runtimeFolder) {
    Path file = runtimeFolder.resolve(StatusServer.ADDRESS_FILE);
    try {
      if (Files.size(file) > MAX_ADDRESS_BYTES) {
        throw new UnavailableException("'" + file + "' is not the address of a Manager; name it with --http");
      }
      return URI.create(Files.readString(file).strip());
    } catch (NoSuchFileException e) {
      throw new UnavailableException("no Manager with HTTP runs in '" + runtimeFolder + "' (there is no "
          + StatusServer.ADDRESS_FILE + "); start one, or name another with --runtime or --http", e);
    } catch (IOException | IllegalArgumentException e) {
      throw new UnavailableException("'" + file + "' cannot be read as the address of a Manager: " + e.getMessage(), e);
    }
  }

  /**
   * Reads a status.
   *
   * @param server where the Manager serves, as {@code http://127.0.0.1:9470}
   * @param tokenFile the token, if it wants one
   * @param trusted PEM certificates to trust in place of the system's
   * @return the content of {@code /status.json}
   * @throws UnavailableException if no Manager answers there in time
   * @throws RefusedException if the Manager wants another token, or an argument cannot be used
   */
  public static ObjectNode status(URI server, Optional<Path> tokenFile, Optional<Path> trusted)
      throws InterruptedException {
    HttpClient.Builder client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(LIMIT);
    trusted.ifPresent(file -> client.sslContext(trusting(file)));
    HttpRequest.Builder request = request(server).timeout(LIMIT);
    tokenFile.ifPresent(file -> request.header("Authorization", "Bearer " + PrivateFile.secret("token file", file)));
    try (HttpClient http = client.build()) {
      HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
      return switch (answer.statusCode()) {
        case 200 -> statusIn(answer.body(), server);
        case 401 -> throw new RefusedException(
            "the Manager at " + server + " wants its token; name the file that holds it with --token-file");
        default -> throw new UnavailableException(
            "what answers at " + server + " is no Manager, or a failing one: status " + answer.statusCode());
      };
    } catch (HttpTimeoutException e) {
      throw new UnavailableException("the Manager at " + server + " gave no answer in " + LIMIT.toSeconds() + " s", e);
    } catch (SSLException e) {
      throw new UnavailableException("the Manager at " + server + " is not trusted: " + e.getMessage()
          + "; name its certificate with --tls-ca", e);
    } catch (IOException e) {
      String reason = e.getMessage() == null ? "nothing listens there" : e.getMessage();
      throw new UnavailableException("no Manager answers at " + server + ": " + reason, e);
    }
  }

  private static ObjectNode statusIn(String body, URI server) {
    try {
      if (new JsonMapper().readTree(body) instanceof ObjectNode status && status.has("cache")) {
        return status;
      }
    } catch (JacksonException e) {
      // No JSON at all.
    }
    throw new UnavailableException("what answers at " + server + " is no Manager: it sent no status");
  }

  private static HttpRequest.Builder request(URI server) {
    try {
      return HttpRequest.newBuilder(server.resolve("/status.json"));
    } catch (IllegalArgumentException e) {
      throw new RefusedException("'" + server + "' is not an address as http://127.0.0.1:9470", e);
    }
  }

  private static SSLContext trusting(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        store.setCertificateEntry(Integer.toString(store.size()), certificate);
      }
      TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new RefusedException("'" + file + "' cannot be used, expected PEM certificates: " + e.getMessage(), e);
    }
  }
}
