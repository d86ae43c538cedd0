package io.orbitkv.cli.pd;

import io.orbitkv.api.OrbitKvException;
import io.orbitkv.cli.http.StatusClient;
import io.orbitkv.pd.composition.check.Answer;
import io.orbitkv.pd.composition.check.Probe;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** Asks over HTTP. An SGLang server answers for its health by generating a token, for which it takes seconds. */
public final class HttpProbe implements Probe, AutoCloseable {

  private static final Duration CONNECT_LIMIT = Duration.ofSeconds(5);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(CONNECT_LIMIT).build();
  private final Duration limit;
  private final Optional<Path> tokenFile;
  private final Optional<Path> trusted;

  /**
   * @param limit of an answer
   * @param tokenFile the Managers' token, if they want one
   * @param trusted PEM certificates to trust of Managers in place of the system's
   */
  public HttpProbe(Duration limit, Optional<Path> tokenFile, Optional<Path> trusted) {
    this.limit = limit;
    this.tokenFile = tokenFile;
    this.trusted = trusted;
  }

  @Override
  public Answer ask(URI server, String path) throws InterruptedException {
    try {
      HttpRequest request = HttpRequest.newBuilder(server.resolve(path)).timeout(limit).build();
      HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
      return new Answer.Said(response.statusCode(), response.body(), JsonSettings.answer(response.body()));
    } catch (HttpTimeoutException e) {
      return new Answer.Silent("no answer in " + limit.toSeconds() + " s");
    } catch (ConnectException e) {
      return new Answer.Silent("nothing listens there");
    } catch (IOException e) {
      return new Answer.Silent("no answer: " + e.getMessage());
    }
  }

  @Override
  public Answer status(URI manager) throws InterruptedException {
    try {
      String status = StatusClient.status(manager, tokenFile, trusted).toString();
      return new Answer.Said(200, status, JsonSettings.answer(status));
    } catch (OrbitKvException e) {
      return new Answer.Silent(e.getMessage());
    }
  }

  @Override
  public void close() {
    http.close();
  }
}
